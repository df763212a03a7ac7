import { Text } from '../text.tsx';
import type { Parameter } from './contract.ts';
import { type Field, patternsOf, rulesOf } from './rules.ts';

interface Props {
  fields: readonly (Field & { place?: Parameter['in'] })[];
  /** In a response, a field that is not required is present only sometimes. */
  isResponse?: boolean;
}

export function Fields({ fields, isResponse = false }: Props) {
  return (
    <dl class="fields">
      {fields.map(({ name, place, isRequired, schema, kinds }) => (
        <div>
          <dt>
            <code>{name}</code>{' '}
            <span class="minor">
              {place && `${place}, `}
              <Text>{rulesOf(schema)}</Text>
              {isResponse ? !isRequired && ', not always present' : isRequired ? ', required' : ', optional'}
            </span>
          </dt>
          <dd>
            {schema.description && <Text>{schema.description}</Text>}
            {!isResponse && <Patterns patterns={patternsOf(schema)} />}
            {kinds.map((kind) => (
              <details>
                <Text as="summary">{kind.title}</Text>
                {kind.description !== '' && <Text as="p">{kind.description}</Text>}
                <Fields fields={kind.fields} isResponse={isResponse} />
              </details>
            ))}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Patterns({ patterns: [pattern, forbidden] }: { patterns: readonly string[] }) {
  return pattern === undefined ? null : (
    <details>
      <summary>Pattern</summary>
      <code>{pattern}</code>
      {forbidden !== undefined && (
        <>
          {' '}
          and not <code>{forbidden}</code>
        </>
      )}
    </details>
  );
}
