import type { PropsWithChildren } from 'hono/jsx';
import { Code } from '../../page/code.tsx';
import { Tabs } from '../../page/tabs.tsx';
import { Text } from '../../page/text.tsx';
import { PROBLEMS } from '../../problems.ts';
import { LANGUAGES, type RequestExample } from '../request-examples.ts';
import type { Operation, Response } from './contract.ts';
import { Fields } from './fields.tsx';
import { fieldsOf } from './rules.ts';

const json = (value: unknown) => JSON.stringify(value, null, 2);
/** By status, a new record before a replay. */
const responsesOf = ({ responses: { 201: created, ...others } }: Operation) => [
  ...(created ? [['201', created] as const] : []),
  ...Object.entries(others),
];
const isSuccess = ([status]: readonly [string, unknown]) => status.startsWith('2');

/** One operation: what it does, its request, its responses, and examples beside them. */
export function OperationSection({ operation, children }: PropsWithChildren<{ operation: Operation }>) {
  const { operationId, summary, description, method, path, requestBody } = operation;
  const successes = responsesOf(operation).filter(isSuccess);
  const body = Object.values(requestBody?.content ?? {})[0];
  return (
    <section class="operation" aria-labelledby={operationId}>
      <div>
        <h2 id={operationId}>
          <a href={`#${operationId}`}>{summary}</a>
        </h2>
        <p class="path">
          <strong>{method}</strong> <code>{path}</code>
        </p>
        <p>
          <Text>{description}</Text>
        </p>
        {children}
        {operation.parameters.length > 0 && (
          <>
            <h3>Path and headers</h3>
            <Fields fields={operation.parameters.map((one) => ({ ...one, isRequired: one.required, place: one.in }))} />
          </>
        )}
        {body && (
          <>
            <h3>Body (JSON)</h3>
            <Fields fields={fieldsOf(body.schema)} />
            {body.schema.additionalProperties === false && <p class="minor">Other fields are refused by name.</p>}
          </>
        )}
      </div>
      <div class="examples">
        <RequestExamples operation={operation} />
        <Tabs
          group={`${operationId}-response`}
          legend="Response"
          tabs={successes.map(([status, response]) => ({
            id: status,
            label: status === '200' && successes.length > 1 ? '200 replay' : status,
            content: (
              <Code label={`Response ${status} of ${summary}`} title="Response">
                {json(Object.values(firstContent(response)?.examples ?? {})[0]?.value)}
              </Code>
            ),
          }))}
        />
      </div>
      <Responses operation={operation} />
    </section>
  );
}

const firstContent = (response: Response | undefined) => Object.values(response?.content ?? {})[0];

/** The example of a request, with the first example of each part. */
function exampleOf({ method, url, security, parameters, requestBody }: Operation): RequestExample {
  const examplesIn = (place: string) =>
    parameters
      .filter((parameter) => parameter.in === place)
      .map(({ name, schema }) => [name, String(schema.example)] as const);
  const filled = examplesIn('path').reduce((text, [name, value]) => text.replace(`{${name}}`, value), url);
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  return {
    method,
    url: filled,
    needsKey: security === undefined,
    headers: [...(type === undefined ? [] : [['Content-Type', type] as const]), ...examplesIn('header')],
    body: Object.values(content?.examples ?? {})[0]?.value,
  };
}

function RequestExamples({ operation }: { operation: Operation }) {
  const example = exampleOf(operation);
  const others = Object.values(Object.values(operation.requestBody?.content ?? {})[0]?.examples ?? {}).slice(1);
  return (
    <>
      <Tabs
        group={`${operation.operationId}-request`}
        legend="Request"
        tabs={LANGUAGES.map(({ id, label, write }) => ({
          id,
          label,
          content: (
            <Code label={`Request with ${label}: ${operation.summary}`} title="Request">
              {write(example)}
            </Code>
          ),
        }))}
      />
      {others.map(({ summary = 'Another body', value }) => (
        <details>
          <summary>{summary}</summary>
          <Code label={summary} title="Body">
            {json(value)}
          </Code>
        </details>
      ))}
    </>
  );
}

/** All responses. Each problem unfolds to an example. */
function Responses({ operation }: { operation: Operation }) {
  const { operationId } = operation;
  const all = responsesOf(operation);
  const result = firstContent(all.find(isSuccess)?.[1]);
  const usual = Object.keys(all.find(isSuccess)?.[1].headers ?? {});
  return (
    <div class="responses">
      <h3 id={`${operationId}-responses`}>Responses</h3>
      {result && (
        <details>
          <summary>Fields of a success</summary>
          <Fields fields={fieldsOf(result.schema)} isResponse />
        </details>
      )}
      <ul aria-labelledby={`${operationId}-responses`}>
        {all.flatMap(([status, response]) => {
          const extra = Object.keys(response.headers).filter((name) => !usual.includes(name));
          if (isSuccess([status, response]))
            return (
              <li>
                <strong class="good">{status}</strong> <Text>{response.description}</Text>
              </li>
            );
          return Object.entries(firstContent(response)?.examples ?? {}).map(([code, { value }]) => (
            <ProblemItem status={status} code={code} description={response.description} headers={extra} value={value} />
          ));
        })}
      </ul>
    </div>
  );
}

interface ProblemProps {
  status: string;
  /** The code, or the name of the example of a problem without one. */
  code: string;
  description: string;
  /** Headers that a success does not have. */
  headers: readonly string[];
  value: unknown;
}

function ProblemItem({ status, code, description, headers, value }: ProblemProps) {
  const kind = Object.entries(PROBLEMS).find(([name]) => name === code)?.[1];
  return (
    <li>
      <details>
        <summary>
          <strong>{status}</strong> {kind ? <code>{code}</code> : 'Unauthorized'}{' '}
          <span>
            <Text>{kind?.meaning ?? withoutLinks(description)}</Text>
          </span>
        </summary>
        <p>
          {kind ? <Text>{kind.remedy}</Text> : 'Four steps find the cause.'}{' '}
          <a href={`/docs/problems#${code}`}>{kind ? `More about ${code}` : 'Find the cause of a 401'}</a>
        </p>
        {headers.length > 0 && (
          <p>
            Also has {headers.length === 1 ? 'the header' : 'the headers'}{' '}
            {headers.map((name, index) => (
              <>
                {index > 0 && ', '}
                <a href={`#${name.toLowerCase()}`}>{name}</a>
              </>
            ))}
            .
          </p>
        )}
        <Code label={`Example of ${status} ${code}`} title="Example">
          {json(value)}
        </Code>
      </details>
    </li>
  );
}

/** Markdown links as their words. */
const withoutLinks = (markdown: string) => markdown.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
