import { PROBLEMS, UNAUTHORIZED_STEPS } from '../problems.ts';
import { CHECKSUM_EXAMPLE, CHECKSUM_RULE, keyPattern } from './key-format.ts';
import { Code, Page, Table, Text } from './layout.tsx';
import { RECIPES, type Recipe, RULES } from './recipes.ts';

export function Home({ origin }: { origin: string }) {
  return (
    <Page title="Ticket Write-Back API">
      <p>
        An automation did some work for a ticket. Here it writes the result back: an internal note, or a time entry.
      </p>
      <ul>
        <li>
          <a href="/docs">Reference</a>: every request and answer, to read and to try.
        </li>
        <li>
          <a href="/docs/recipes">Recipes</a> for {RECIPES.map(({ tool }) => tool).join(', ')}.
        </li>
        <li>
          <a href="/docs/problems">Problems</a>: what an error means and what to do.
        </li>
        <li>
          <a href="/settings">Settings</a>: administrators create and revoke keys here.
        </li>
      </ul>
      <h2>Check a key</h2>
      <Code label="Check a key with curl">{`curl ${origin}/api/v1/ping -H "Authorization: Bearer $TICKETS_API_KEY"`}</Code>
    </Page>
  );
}

export function Reference() {
  return (
    <Page
      title="Reference"
      head={
        <>
          <link rel="stylesheet" href="/docs/swagger-ui/swagger-ui.css" />
          <link rel="stylesheet" href="/docs/reference.css" />
          <script src="/docs/swagger-ui/swagger-ui-bundle.js" defer />
          <script src="/docs/reference.js" defer />
        </>
      }
    >
      <p>
        To try a request, choose Authorize and enter a key; start with ping. Tools read the same as an{' '}
        <a href="/api/v1/openapi.json">OpenAPI 3.1 document</a>.
      </p>
      <noscript>
        <p>This page needs JavaScript. The document above says the same.</p>
      </noscript>
      <h2>Operations</h2>
      <div id="reference" />
    </Page>
  );
}

export function Problems() {
  return (
    <Page title="Problems">
      <p>
        Every error but the 401 is <code>application/problem+json</code> with a <code>code</code>, a <code>detail</code>{' '}
        that says what to do, and a <code>requestId</code> to name when you ask for help. Compare the code, never the
        words.
      </p>
      <section class="table" tabindex={0} aria-label="Problem codes">
        <table>
          <thead>
            <tr>
              <th scope="col">Code</th>
              <th scope="col">Status</th>
              <th scope="col">What it means</th>
              <th scope="col">What to do</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(PROBLEMS).map(([code, { status, meaning, remedy }]) => (
              <tr id={code}>
                <th scope="row">
                  <code>{code}</code>
                </th>
                <td>{status}</td>
                <td>
                  <Text>{meaning}</Text>
                </td>
                <td>
                  <Text>{remedy}</Text>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <h2 id="unauthorized">401 Unauthorized</h2>
      <p>
        A key that is missing, malformed, unknown, revoked, expired or lacks the scope gets the same 401 with nothing
        more in it, so that nobody can find out by trying. Go through these in order:
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

export function Recipes() {
  return (
    <Page title="Recipes">
      <ul>
        {RECIPES.map(({ slug, tool }) => (
          <li>
            <a href={`/docs/recipes/${slug}`}>{tool}</a>
          </li>
        ))}
      </ul>
      <h2>Whatever the tool</h2>
      <Table head={['Question', 'Answer']} rows={RULES} />
    </Page>
  );
}

export function RecipePage({ recipe, origin }: { recipe: Recipe; origin: string }) {
  const { tool, tried, steps, repeats, example, download } = recipe;
  return (
    <Page title={tool}>
      <p class="tried">
        <Text>{tried}</Text>
      </p>
      <Table head={['Set', 'To']} rows={[...steps, ['What is repeated', repeats]]} />
      {download && (
        <p>
          <a href={`/docs/recipes/${download.file}`} download={download.file}>
            {download.label}
          </a>{' '}
          (<code>{download.file}</code>)
        </p>
      )}
      <h2>Example</h2>
      <Code label={`Example for ${tool}`}>{example.text(origin)}</Code>
      <p>
        What holds for every tool, from the Idempotency-Key to retries after midnight, stands under{' '}
        <a href="/docs/recipes">Recipes</a>.
      </p>
    </Page>
  );
}

export function Keys({ keyPrefix }: { keyPrefix: string }) {
  return (
    <Page title="Key format">
      <p>
        For secret scanners: a key that was committed or pasted somewhere can be found without false alarms, and without
        asking this service. Whoever finds one asks an administrator to revoke it.
      </p>
      <Table
        head={['What', 'Value']}
        rows={[
          ['Regular expression', `\`${keyPattern(keyPrefix)}\``],
          ['Checksum', CHECKSUM_RULE],
        ]}
      />
      <h2>Example</h2>
      <Code label="Checking a key in Node.js">{CHECKSUM_EXAMPLE}</Code>
    </Page>
  );
}
