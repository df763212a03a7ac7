import type { PropsWithChildren } from 'hono/jsx';
import { type DeploymentLimits, limitsInWords } from '../../domain/day-limit.ts';
import { Page } from '../layout.tsx';
import { Text } from '../text.tsx';
import { firstContent, type Header, type Operation, type Response, variantsOf } from './contract.ts';
import { Examples } from './examples.tsx';
import { Fields } from './fields.tsx';
import { Responses } from './responses.tsx';
import { type Field, fieldsOf } from './rules.ts';

interface Props {
  origin: string;
  operations: readonly Operation[];
  limits: DeploymentLimits;
}

export function Reference({ origin, operations, limits }: Props) {
  const responses = operations.flatMap((operation) => Object.values(operation.responses));
  const parts = [
    ...operations.map(({ operationId, summary }) => ({ href: `#${operationId}`, text: summary })),
    { href: '#problem', text: 'Fields of a problem' },
    { href: '#headers', text: 'Headers of responses' },
  ];
  return (
    <Page title="Reference" path="/docs/reference" parts={parts} isWide>
      <p>
        The API is at <code>{`${origin}/api/v1`}</code>. Send the key in the header{' '}
        <code>{'Authorization: Bearer <key>'}</code>. The same reference is available as an{' '}
        <a href="/api/v1/openapi.json">OpenAPI 3.1 document</a>.
      </p>
      <p>Limits as deployed: {limitsInWords(limits)}</p>
      <p>Responses may gain fields: ignore fields that you do not know.</p>
      <ul class="contents">
        {operations.map(({ operationId, summary, method, path }) => (
          <li>
            <a href={`#${operationId}`}>{summary}</a>{' '}
            <code>
              {method} {path}
            </code>
          </li>
        ))}
      </ul>
      {operations.map((operation) => (
        <OperationSection operation={operation}>{operation.operationId === 'ping' && <TryPing />}</OperationSection>
      ))}
      <h2 id="problem">Fields of a problem</h2>
      <p>
        Every error is <code>application/problem+json</code>. A 401 contains only <code>type</code>, <code>title</code>{' '}
        and <code>status</code>. <a href="/docs/errors">Errors</a> explains each code.
      </p>
      <Fields fields={problemFields(responses)} isResponse />
      <h2 id="headers">Headers of responses</h2>
      <Headers responses={responses} />
    </Page>
  );
}

function OperationSection({ operation, children }: PropsWithChildren<{ operation: Operation }>) {
  const { operationId, summary, description, method, path, parameters, requestBody } = operation;
  const body = firstContent(requestBody)?.schema;
  return (
    <section class="operation" aria-labelledby={operationId}>
      <div>
        <h2 id={operationId}>
          <a href={`#${operationId}`}>{summary}</a>
        </h2>
        <p class="path">
          <strong>{method}</strong> <code>{path}</code>
        </p>
        <Text as="p">{description}</Text>
        {children}
        {parameters.length > 0 && (
          <>
            <h3>Path and headers</h3>
            <Fields
              fields={parameters.map((one) => ({ ...one, isRequired: one.required, place: one.in, kinds: [] }))}
            />
          </>
        )}
        {body && (
          <>
            <h3>Body (JSON)</h3>
            <Fields fields={fieldsOf(body)} />
            {body.additionalProperties === false && <p class="minor">Other fields are refused by name.</p>}
          </>
        )}
      </div>
      <Examples operation={operation} />
      <Responses operation={operation} />
    </section>
  );
}

/** With script only. The key is only the value of this field: no form could be sent or remembered. */
function TryPing() {
  return (
    <div class="card try" id="try-ping" hidden>
      <label for="ping-key">Try it with a key</label>
      <div class="row">
        <input id="ping-key" type="password" autocomplete="off" spellcheck={false} aria-describedby="ping-help" />
        <button type="button">Send ping</button>
      </div>
      <p class="help" id="ping-help">
        The key is sent to this service only, and not stored.
      </p>
      <output class="response"></output>
    </div>
  );
}

/** The fields of all problems with a code, without the values that differ between them. */
function problemFields(responses: readonly Response[]): Field[] {
  const shapes = responses
    .flatMap(({ content }) => variantsOf(content['application/problem+json']?.schema))
    .filter(({ required }) => required.includes('code'));
  const byName = new Map(shapes.flatMap((shape) => fieldsOf(shape)).map((field) => [field.name, field]));
  return Array.from(byName.values(), ({ name, isRequired, kinds, schema: { type, format, description } }) => ({
    name,
    isRequired: isRequired && (name.includes('.') || shapes.every(({ required }) => required.includes(name))),
    schema: { type, format, description, required: [] },
    kinds,
  }));
}

/** Each header once, with its longest description. */
function Headers({ responses }: { responses: readonly Response[] }) {
  const headers = new Map<string, Header>();
  for (const [name, header] of responses.flatMap((response) => Object.entries(response.headers))) {
    if (header.description.length > (headers.get(name)?.description.length ?? -1)) headers.set(name, header);
  }
  return (
    <dl class="fields">
      {[...headers].map(([name, { description, schema }]) => (
        <div id={name.toLowerCase()}>
          <dt>
            <code>{name}</code>
          </dt>
          <dd>
            <Text>{description}</Text>
            {schema.example !== undefined && (
              <>
                {' '}
                Example: <code>{String(schema.example)}</code>
              </>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}
