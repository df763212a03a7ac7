import type { MessageShapes } from '../../../docs/reference/contract.ts';
import { Fields } from '../../../docs/reference/fields.tsx';
import { fieldsOf } from '../../../docs/reference/rules.ts';
import { Text } from '../../../docs/text.tsx';
import { FACT_TYPES } from '../../../domain/facts.ts';
import { Code } from '../../../http/page/code.tsx';
import { messageType } from '../../alerts/alert.ts';
import { FACT_MEANINGS } from '../../alerts/docs/fact-meanings.ts';
import { PSA_CALL_TYPES, type PsaCallType } from '../psa-calls.ts';
import { callText } from './call-texts.ts';

const json = (value: unknown) => JSON.stringify(value, null, 2);

export const alertRows = FACT_TYPES.map((type) => `| \`${messageType(type)}\` | ${FACT_MEANINGS[type]} |`).join('\n');

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
