import { Code } from '../../http/page/code.tsx';
import { Tabs } from '../../http/page/tabs.tsx';
import { LANGUAGES, type RequestExample } from '../request-examples.ts';
import { firstContent, firstExample, isSuccess, type Operation, responsesOf } from './contract.ts';

const json = (value: unknown) => JSON.stringify(value, null, 2);

/** The request in each language, other bodies, and the responses to it. */
export function Examples({ operation }: { operation: Operation }) {
  const { operationId, summary, requestBody } = operation;
  const request = requestExample(operation);
  const otherBodies = Object.values(firstContent(requestBody)?.examples ?? {}).slice(1);
  const successes = responsesOf(operation).filter(([status]) => isSuccess(status));
  return (
    <div class="examples">
      <div>
        <Tabs
          group={`${operationId}-request`}
          legend="Request"
          choice="language"
          tabs={LANGUAGES.map(({ id, label, write }) => ({
            id,
            label,
            content: (
              <Code label={`Request with ${label}: ${summary}`} title="Request">
                {write(request)}
              </Code>
            ),
          }))}
        />
        {otherBodies.map(({ summary = 'Another body', value }) => (
          <details>
            <summary>{summary}</summary>
            <Code label={summary} title="Body">
              {json(value)}
            </Code>
          </details>
        ))}
        <Tabs
          group={`${operationId}-response`}
          legend="Response"
          tabs={successes.map(([status, response], index) => ({
            id: status,
            label: index === 0 ? status : `${status} replay`,
            content: (
              <Code label={`Response ${status}: ${summary}`} title="Response">
                {json(firstExample(response))}
              </Code>
            ),
          }))}
        />
      </div>
    </div>
  );
}

/** The example of a request, with the first example of its body. The ids of ticket and event are variables. */
function requestExample({ method, url, security, parameters, requestBody }: Operation): RequestExample {
  const [type] = Object.keys(requestBody?.content ?? {});
  const headers = parameters.filter((parameter) => parameter.in === 'header');
  return {
    method,
    url,
    needsKey: security === undefined,
    headers: [
      ...(type === undefined ? [] : [['Content-Type', type] as const]),
      ...headers.map(({ name, schema }) => [name, String(schema.example).replace(/:.*/, ':{eventId}')] as const),
    ],
    body: firstExample(requestBody),
  };
}
