import type { PropsWithChildren } from 'hono/jsx';
import { Text } from '../text.tsx';
import { firstContent, type Operation } from './contract.ts';
import { Examples } from './examples.tsx';
import { Fields } from './fields.tsx';
import { Responses } from './responses.tsx';
import { fieldsOf } from './rules.ts';

/** One operation: its effect, its request, examples beside it, and its responses. */
export function OperationSection({ operation, children }: PropsWithChildren<{ operation: Operation }>) {
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
        <p>
          <Text>{description}</Text>
        </p>
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
