import { Code } from '../../http/page/code.tsx';
import { blocksOf, codesIn, sectionsOf } from '../blocks.ts';
import { languageName } from '../markdown.tsx';
import { Tabs } from '../tabs.tsx';
import { firstContent, firstExample, isSuccess, type Operation, responsesOf } from './contract.ts';
import texts from './examples.md?raw';

/** The same request in several languages, by operation. */
const REQUESTS = new Map(
  sectionsOf(blocksOf(texts), 2).map(({ title, blocks }) => [title, codesIn(blocks)[0]?.versions]),
);

const json = (value: unknown) => JSON.stringify(value, null, 2);

export function Examples({ operation }: { operation: Operation }) {
  const { operationId, summary, requestBody } = operation;
  const requests = REQUESTS.get(operationId);
  if (!requests) throw new Error(`examples.md lacks the request of ${operationId}`);
  const otherBodies = Object.values(firstContent(requestBody)?.examples ?? {}).slice(1);
  const successes = responsesOf(operation).filter(([status]) => isSuccess(status));
  return (
    <div class="examples">
      <div>
        <Tabs
          group={`${operationId}-request`}
          legend="Request"
          choice="language"
          tabs={requests.map(({ language, text }) => ({
            id: language,
            label: languageName(language),
            content: (
              <Code label={`Request with ${languageName(language)}: ${summary}`} title="Request">
                {text}
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
