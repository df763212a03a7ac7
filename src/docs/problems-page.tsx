import { PROBLEMS, UNAUTHORIZED_STEPS } from '../http/problems.ts';
import { Page } from './layout.tsx';
import { Text } from './text.tsx';

const PARTS = [
  { href: '#codes', text: 'Codes' },
  { href: '#unauthorized', text: '401 Unauthorized' },
];

export function Problems() {
  return (
    <Page title="Problems" path="/docs/problems" parts={PARTS}>
      <p>
        Errors are <code>application/problem+json</code>. Every error except the 401 has a <code>code</code>, a{' '}
        <code>detail</code> that says what to do, and a <code>requestId</code> to include when you ask for help. In your
        automation, check the code and not the text, which can change.
      </p>
      <h2 id="codes">Codes</h2>
      <div class="sheet">
        <table>
          <caption class="visually-hidden">Problem codes</caption>
          <thead>
            <tr>
              <th scope="col">Code</th>
              <th scope="col">What it means</th>
              <th scope="col">What to do</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(PROBLEMS).map(([code, { status, title, meaning, remedy }]) => (
              <tr id={code}>
                <th scope="row">
                  <code>{code}</code>
                  <span class="minor">
                    {status} {title}
                  </span>
                </th>
                <td>
                  <div>
                    <Text>{meaning}</Text>
                  </div>
                </td>
                <td data-label="What to do">
                  <div>
                    <Text>{remedy}</Text>
                  </div>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <h2 id="unauthorized">401 Unauthorized</h2>
      <p>
        The 401 response is the same whether the key is missing, malformed, unknown, revoked, expired or without the
        required scope. It contains no further details, so that an attacker cannot use it to test keys. To find the
        cause, check these points in order:
      </p>
      <ol>
        {UNAUTHORIZED_STEPS.map((step) => (
          <li>
            <Text>{step}</Text>
          </li>
        ))}
      </ol>
    </Page>
  );
}
