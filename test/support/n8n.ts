import { runInNewContext } from 'node:vm';
import * as z from 'zod';

// Runs the published n8n workflow without n8n: its expressions are evaluated unchanged, its nodes are
// imitated after n8n's documentation.

const item = z.record(z.string(), z.unknown());
export type Item = z.infer<typeof item>;
const node = z.object({
  id: z.string(),
  name: z.string(),
  type: z.string(),
  retryOnFail: z.boolean().default(false),
  maxTries: z.number().default(1),
  parameters: item,
});
type WorkflowNode = z.infer<typeof node>;
const workflowShape = z.object({
  nodes: z.array(node),
  connections: z.record(z.string(), z.object({ main: z.array(z.array(z.object({ node: z.string() }))) })),
});

const http = z.object({
  method: z.enum(['GET', 'POST']),
  url: z.string(),
  headerParameters: z
    .object({ parameters: z.array(z.object({ name: z.string(), value: z.string() })) })
    .default({ parameters: [] }),
  jsonBody: z.string().optional(),
});
const condition = z.object({
  conditions: z.object({ conditions: z.tuple([z.object({ leftValue: z.string() })]) }),
});
const respond = z.object({
  responseBody: z.string(),
  options: z.object({ responseCode: z.union([z.number(), z.string()]) }),
});
const stop = z.object({ errorMessage: z.string() });

/** A request of a node, without the credential of the node. */
export interface SentRequest {
  method: 'GET' | 'POST';
  url: string;
  headers: Record<string, string>;
  body: unknown;
}
interface Response {
  status: number;
  body: Item;
}
/** What the service responds to a request. */
export type Service = (request: SentRequest) => Response | Promise<Response>;

/** What the runs of a workflow have done. */
interface Run {
  sent: SentRequest[];
  answers: { status: number; body: unknown }[];
  /** What each node has put out last. */
  outputs: Map<string, Item>;
  failure: string | undefined;
}

/** The workflow in the text of its file. */
export function n8nWorkflow(text: string) {
  const { nodes, connections } = workflowShape.parse(JSON.parse(text));
  const nodeNamed = (name: string): WorkflowNode => {
    const found = nodes.find((candidate) => candidate.name === name);
    if (!found) throw new Error(`no node ${name}`);
    return found;
  };
  const next = (name: string, output: number) => (connections[name]?.main[output] ?? []).map(({ node }) => node);

  /** Runs everything after a trigger. */
  async function run(trigger: string, triggered: Item, service: Service): Promise<Run> {
    const result: Run = { sent: [], answers: [], outputs: new Map(), failure: undefined };
    const waiting = [{ at: nodeNamed(trigger), json: triggered }];
    try {
      for (let one = waiting.shift(); one; one = waiting.shift()) {
        const { at, json } = one;
        const outputs = await withTries(at, () => runNode(at, json, service, result));
        for (const [output, item] of outputs.entries()) {
          if (!item) continue;
          result.outputs.set(at.name, item);
          for (const name of next(at.name, output)) waiting.push({ at: nodeNamed(name), json: item });
        }
      }
    } catch (err) {
      result.failure = err instanceof Error ? err.message : String(err);
      // n8n's own response, if the workflow has given none.
      if (result.answers.length === 0) result.answers.push({ status: 500, body: { message: 'Error in workflow' } });
    }
    return result;
  }

  return {
    nodes,
    next,
    /** Delivers a body to the webhook. */
    deliver: (body: unknown, service: Service) => run('Work done', { body }, service),
    /** Runs the manual trigger that tests the key. */
    ping: (service: Service) => run('Test the key', {}, service),
  };
}

async function withTries<T>({ retryOnFail, maxTries }: WorkflowNode, attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (err) {
      if (!retryOnFail || tries === maxTries) throw err;
    }
  }
}

/** What a node hands to each of its outputs. */
async function runNode(
  { type, parameters }: WorkflowNode,
  json: Item,
  service: Service,
  { sent, answers, outputs }: Run,
): Promise<(Item | undefined)[]> {
  /** A value of a parameter: `=` begins an expression, with JavaScript between double braces. */
  const evaluate = (text: string): unknown => {
    if (!text.startsWith('=')) return text;
    const context = { $json: json, $: (name: string) => ({ item: { json: outputs.get(name) } }) };
    const parts = text.slice(1).split(/\{\{(.*?)\}\}/s);
    const values = parts.map((part, index) => (index % 2 === 0 ? part : runInNewContext(`(${part})`, context)));
    return values.length === 3 && values[0] === '' && values[2] === '' ? values[1] : values.join('');
  };
  const textOf = (text: string) => z.string().parse(evaluate(text));

  switch (type.replace('n8n-nodes-base.', '')) {
    case 'webhook':
    case 'manualTrigger':
      return [json];
    case 'if': {
      const [{ leftValue }] = condition.parse(parameters).conditions.conditions;
      return z.boolean().parse(evaluate(leftValue)) ? [json, undefined] : [undefined, json];
    }
    case 'httpRequest': {
      const { method, url, headerParameters, jsonBody } = http.parse(parameters);
      const headers = headerParameters.parameters.map(({ name, value }) => [name, textOf(value)]);
      const request = {
        method,
        url: textOf(url),
        headers: Object.fromEntries(headers),
        body: jsonBody === undefined ? undefined : JSON.parse(textOf(jsonBody)),
      };
      sent.push(request);
      const response = await service(request);
      if (response.status >= 400) throw new Error(`Request failed with status code ${response.status}`);
      return [response.body];
    }
    case 'respondToWebhook': {
      const { responseBody, options } = respond.parse(parameters);
      const { responseCode } = options;
      const status = typeof responseCode === 'number' ? responseCode : z.number().parse(evaluate(responseCode));
      answers.push({ status, body: JSON.parse(textOf(responseBody)) });
      return [json];
    }
    case 'stopAndError':
      throw new Error(textOf(stop.parse(parameters).errorMessage));
    default:
      throw new Error(`a node of type ${type} is not imitated here`);
  }
}
