import { fieldLines, jsonBlock } from '../../../docs/generated-markdown.ts';
import { firstContent, type Operation, type Schema, variantsOf } from '../../../docs/reference/contract.ts';
import { Fields } from '../../../docs/reference/fields.tsx';
import { fieldsOf } from '../../../docs/reference/rules.ts';
import { Text } from '../../../docs/text.tsx';
import { Code } from '../../../http/page/code.tsx';
import { PSA_CALL_TYPES, type PsaCallType } from '../psa-calls.ts';
import { callText } from './call-texts.ts';

const json = (value: unknown) => JSON.stringify(value, null, 2);

interface MessageShapes {
  data: Schema;
  value: Schema;
}

/** The shapes of the messages by their type. The document lists the results in the order of the messages. */
export function messagesOf({ requestBody, responses }: Operation): Map<string, MessageShapes> {
  const results = variantsOf(firstContent(responses['200'])?.schema.properties?.['value']);
  const messages = variantsOf(firstContent(requestBody)?.schema);
  return new Map(
    messages.flatMap(({ properties: { type, data } = {} }, index) => {
      const value = results[index];
      return type && data && value ? [[String(type.const), { data, value }] as const] : [];
    }),
  );
}

export const callsMarkdown = (messages: ReadonlyMap<string, MessageShapes>): string =>
  PSA_CALL_TYPES.map((type) => {
    const { summary, data, value } = callText(type);
    const shapes = messages.get(type);
    const fields = shapes ? [fieldLines(fieldsOf(shapes.data))] : [];
    return [`### ${type}`, summary, ...fields, jsonBlock({ type, data }), jsonBlock(value)].join('\n\n');
  }).join('\n\n');

export function Calls({ messages }: { messages: ReadonlyMap<string, MessageShapes> }) {
  return (
    <>
      {PSA_CALL_TYPES.map((type) => (
        <Call type={type} shapes={messages.get(type)} />
      ))}
    </>
  );
}

function Call({ type, shapes }: { type: PsaCallType; shapes: MessageShapes | undefined }) {
  const { summary, data, value } = callText(type);
  return (
    <section class="operation" aria-labelledby={type}>
      <div>
        <h3 id={type}>
          <a href={`#${type}`}>
            <code>{type}</code>
          </a>
        </h3>
        <Text as="p">{summary}</Text>
        {shapes && (
          <>
            <h4>
              <code>data</code>
            </h4>
            <Fields fields={fieldsOf(shapes.data)} />
            <details>
              <summary>
                Fields of <code>value</code>
              </summary>
              <Fields fields={fieldsOf(shapes.value)} isResponse />
            </details>
          </>
        )}
      </div>
      <div class="examples">
        <div>
          <Code label={`Message ${type}`} title="Message">
            {json({ type, data })}
          </Code>
          <Code label={`Value of ${type}`} title="Value">
            {json(value)}
          </Code>
        </div>
      </div>
    </section>
  );
}
