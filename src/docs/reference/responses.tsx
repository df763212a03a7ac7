import { Code } from '../../http/page/code.tsx';
import { ERROR_TEXTS } from '../errors.ts';
import { Text } from '../text.tsx';
import { firstContent, isSuccess, type Operation, type Response, responsesOf } from './contract.ts';
import { Fields } from './fields.tsx';
import { fieldsOf } from './rules.ts';

/** All responses of an operation. Each problem unfolds to what to do, and to an example. */
export function Responses({ operation }: { operation: Operation }) {
  const { operationId, summary } = operation;
  const responses = responsesOf(operation);
  const first = responses.find(([status]) => isSuccess(status))?.[1];
  const result = firstContent(first);
  const id = `${operationId}-responses`;
  return (
    <div class="responses">
      <h3 id={id}>Responses</h3>
      {result && (
        <details>
          <summary>Fields of a success</summary>
          <Fields fields={fieldsOf(result.schema)} isResponse />
        </details>
      )}
      <ul aria-labelledby={id}>
        {responses.map(([status, response]) => {
          const headers = Object.keys(response.headers).filter((name) => !(name in (first?.headers ?? {})));
          return isSuccess(status) ? (
            <li>
              <strong class="good">{status}</strong> <Text>{response.description}</Text>{' '}
              {headers.length > 0 && <HeaderNames names={headers} />}
            </li>
          ) : (
            <Problems operation={summary} status={status} response={response} headers={headers} />
          );
        })}
      </ul>
    </div>
  );
}

interface ProblemsProps {
  operation: string;
  status: string;
  response: Response;
  /** Headers that a success does not have. */
  headers: readonly string[];
}

/** The problems of a status. The 401 has no code. */
function Problems({ operation, status, response, headers }: ProblemsProps) {
  return (
    <>
      {Object.entries(firstContent(response)?.examples ?? {}).map(([code, { value }]) => {
        const text = ERROR_TEXTS.get(code);
        return (
          <li>
            <details>
              <summary>
                <strong>{status}</strong> {text ? <code>{code}</code> : 'Unauthorized'}{' '}
                <span>
                  <Text>{text?.meaning ?? withoutLinks(response.description)}</Text>
                </span>
              </summary>
              <p>
                {text && <Text>{text.remedy}</Text>}{' '}
                <a href={`/docs/errors#${code}`}>{text ? `More about ${code}` : 'Find the cause of a 401'}</a>
              </p>
              {headers.length > 0 && (
                <p>
                  <HeaderNames names={headers} />
                </p>
              )}
              <Code label={`Example of ${status} ${code}: ${operation}`} title="Example">
                {JSON.stringify(value, null, 2)}
              </Code>
            </details>
          </li>
        );
      })}
    </>
  );
}

function HeaderNames({ names }: { names: readonly string[] }) {
  return (
    <>
      {names.length === 1 ? 'Additional header:' : 'Additional headers:'}{' '}
      {names.map((name, index) => (
        <>
          {index > 0 && ', '}
          <a href={`#${name.toLowerCase()}`}>{name}</a>
        </>
      ))}
    </>
  );
}

const withoutLinks = (markdown: string) => markdown.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
