import {
  type IDataObject,
  type IExecuteFunctions,
  type IHttpRequestOptions,
  type INodeExecutionData,
  type INodeType,
  type INodeTypeDescription,
  type JsonObject,
  NodeApiError,
  NodeConnectionTypes,
  NodeOperationError,
  sleep,
} from 'n8n-workflow';
import { FIELDS, RESOURCES } from './contract';

const MAX_ATTEMPTS = 10;
const MAX_BACKOFF_SECONDS = 30;
/** Longer than any request limit asks for. A daily limit often asks for hours: then the item fails. */
const MAX_WAIT_SECONDS = 120;

/** A response as n8n's helper returns it. */
interface Response {
  statusCode: number;
  headers: { 'retry-after'?: string; 'x-request-id'?: string };
  /** A record, or a problem (RFC 9457). The page of a proxy is a text. */
  body: IDataObject & { code?: string; detail?: string };
}

export class TicketWriteBack implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Ticket Write-Back',
    name: 'ticketWriteBack',
    icon: {
      light: 'file:../../icons/ticketWriteBack.svg',
      dark: 'file:../../icons/ticketWriteBack.dark.svg',
    },
    group: ['output'],
    version: 1,
    subtitle: '={{ $parameter["resource"] === "note" ? "add an internal note" : "log time" }}',
    description: 'Write internal notes and time entries to tickets, each event once',
    documentationUrl: 'https://tickets.example/docs/recipes/n8n',
    defaults: { name: 'Ticket Write-Back' },
    usableAsTool: true,
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'ticketWriteBackApi', required: true }],
    properties: [
      {
        displayName: 'Resource',
        name: 'resource',
        type: 'options',
        noDataExpression: true,
        options: [
          { name: 'Internal Note', value: 'note' },
          { name: 'Time Entry', value: 'timeEntry' },
        ],
        default: 'note',
      },
      {
        displayName: 'Operation',
        name: 'operation',
        type: 'options',
        noDataExpression: true,
        displayOptions: { show: { resource: ['note'] } },
        options: [{ name: 'Add', value: 'create', action: 'Add an internal note to a ticket' }],
        default: 'create',
      },
      {
        displayName: 'Operation',
        name: 'operation',
        type: 'options',
        noDataExpression: true,
        displayOptions: { show: { resource: ['timeEntry'] } },
        options: [{ name: 'Log', value: 'create', action: 'Log time on a ticket' }],
        default: 'create',
      },
      {
        displayName: 'Ticket ID',
        name: 'ticketId',
        type: 'string',
        required: true,
        default: '',
        placeholder: '1001',
        description: 'The ID of the ticket in the PSA',
      },
      {
        displayName: 'Event ID',
        name: 'eventId',
        type: 'string',
        required: true,
        default: '',
        placeholder: 'evt-20418',
        description:
          'The ID of the event that this item is about, from a field that every event has. A retry with the same ID never writes twice. Never use an execution ID or a ticket ID.',
      },
      ...FIELDS,
      {
        displayName: 'Options',
        name: 'options',
        type: 'collection',
        placeholder: 'Add Option',
        default: {},
        options: [
          {
            displayName: 'Accept Mismatch',
            name: 'acceptMismatch',
            type: 'boolean',
            default: false,
            description:
              'Whether to return the existing record if a different request used the event ID before. Otherwise the item fails, because nothing was written.',
          },
          {
            displayName: 'Dry Run',
            name: 'dryRun',
            type: 'boolean',
            default: false,
            description: 'Whether to check the request like a write, and write nothing',
          },
          {
            displayName: 'Workflow',
            name: 'workflow',
            type: 'string',
            default: '={{ $workflow.id }}',
            description:
              'The first part of the Idempotency-Key. Nodes with the same value write one note and one time entry for each event ID. Default: the ID of this workflow.',
          },
        ],
      },
    ],
  };

  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    const written: INodeExecutionData[] = [];
    for (const item of this.getInputData().keys()) {
      try {
        written.push({ json: await write(this, item), pairedItem: { item } });
      } catch (cause) {
        const error = nodeErrorOf(this, item, cause);
        if (!this.continueOnFail()) throw error;
        written.push({ json: { error: error.message }, error, pairedItem: { item } });
      }
    }
    return [written];
  }
}

/** Writes the record of an item, and returns the response's body. */
async function write(context: IExecuteFunctions, item: number): Promise<IDataObject> {
  const parameter = (name: string, fallback?: unknown) => context.getNodeParameter(name, item, fallback);
  const resource = parameter('resource') === 'note' ? RESOURCES.note : RESOURCES.timeEntry;
  const { url } = await context.getCredentials('ticketWriteBackApi', item);
  const options: IDataObject = context.getNodeParameter('options', item, {});
  const workflow = options['workflow'] ?? context.getWorkflow().id;
  // An empty optional field is left out. Everything else is sent as it is: the service explains what is wrong.
  const fields = resource.fields
    .map((name): [string, unknown] => [name, parameter(name)])
    .filter(([name, value]) => value !== '' || resource.required.includes(name));
  const path = resource.path.replace('{ticketId}', encodeURIComponent(String(parameter('ticketId'))));
  const { body } = await send(context, item, {
    method: 'POST',
    url: `${String(url).replace(/\/+$/, '')}${path}${options['dryRun'] ? '/dry-run' : ''}`,
    headers: {
      'Idempotency-Key': `${workflow}:${parameter('eventId')}`,
      ...(!options['acceptMismatch'] && { Prefer: 'handling=strict' }),
    },
    body: Object.fromEntries(fields),
    json: true,
  });
  return body;
}

/** Sends a request until it succeeds, cannot succeed, or the attempts are used up. The Idempotency-Key prevents duplicates. */
async function send(context: IExecuteFunctions, item: number, request: IHttpRequestOptions): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await attemptOf(context, request);
    const status = outcome.response?.statusCode ?? 0;
    if (outcome.response && status < 300) return outcome.response;
    const retryAfter = secondsOf(outcome.response?.headers['retry-after'] ?? '');
    const seconds = Math.max(retryAfter, Math.min(2 ** (attempt - 1), MAX_BACKOFF_SECONDS));
    const isTransient = !outcome.response || status === 429 || status >= 500;
    if (!isTransient || attempt === MAX_ATTEMPTS || seconds > MAX_WAIT_SECONDS) throw errorOf(context, item, outcome);
    await sleep((seconds + Math.random()) * 1000);
  }
}

/** The seconds of `Retry-After`, which is a number or a date (RFC 9110 §10.2.3). 0 if it is neither. */
function secondsOf(retryAfter: string): number {
  const seconds = Number(retryAfter);
  return Number.isNaN(seconds) ? (Date.parse(retryAfter) - Date.now()) / 1000 || 0 : seconds;
}

/** An error as n8n shows it, such as one of an expression. */
function nodeErrorOf(context: IExecuteFunctions, itemIndex: number, cause: unknown): NodeApiError | NodeOperationError {
  if (cause instanceof NodeApiError || cause instanceof NodeOperationError) return cause;
  return new NodeOperationError(context.getNode(), cause instanceof Error ? cause : String(cause), { itemIndex });
}

/** A response, or why there was none. */
interface Outcome {
  response?: Response;
  error?: JsonObject;
}

async function attemptOf(context: IExecuteFunctions, request: IHttpRequestOptions): Promise<Outcome> {
  try {
    const response: Response = await context.helpers.httpRequestWithAuthentication.call(context, 'ticketWriteBackApi', {
      ...request,
      returnFullResponse: true,
      ignoreHttpStatusErrors: true,
      disableFollowRedirect: true,
      timeout: 30_000,
    });
    return { response };
  } catch (error) {
    return { error: { message: error instanceof Error ? error.message : String(error) } };
  }
}

function errorOf(context: IExecuteFunctions, item: number, { response, error }: Outcome): NodeApiError {
  if (!response)
    return new NodeApiError(context.getNode(), error ?? {}, {
      message: 'The service did not respond',
      description: `${error?.['message']}. The record may exist: execute the node again with the same event ID.`,
      itemIndex: item,
    });
  const { statusCode, headers, body } = response;
  const isUnauthorized = statusCode === 401;
  const message = isUnauthorized
    ? 'The key is not accepted: for example it is mistyped, expired or revoked, lacks the scope, or may not be used from this address'
    : (body.detail ?? `The service responded with the status ${statusCode}`);
  const code = isUnauthorized ? 'unauthorized' : (body.code ?? 'unexpected response');
  return new NodeApiError(
    context.getNode(),
    { code, statusCode },
    {
      message,
      description: `${statusCode} ${code}. Request ID: ${headers['x-request-id']}. Every error is explained under /docs/errors of the service.`,
      httpCode: String(statusCode),
      itemIndex: item,
    },
  );
}
