import { type DayLimits, dayLimitsSentence } from '../../domain/day-limit.ts';
import { policyInWords, type RateLimitPolicy } from '../../domain/rate-limit.ts';
import { PROBLEMS, UNAUTHORIZED_STEPS } from '../problems.ts';
import { CHECKSUM_EXAMPLE, CHECKSUM_RULE, keyPattern } from './key-format.ts';
import { Code, Page, Table, Text } from './layout.tsx';
import { RECIPES, type Recipe, RULES } from './recipes.ts';

export function Home({ origin }: { origin: string }) {
  return (
    <Page title="Ticket Write-Back API">
      <p>
        Automations use this API to write the results of their work back to a ticket, as internal notes and time
        entries.
      </p>
      <ul>
        <li>
          <a href="/docs">Reference</a>: every request and response, with a form to try them.
        </li>
        <li>
          <a href="/docs/recipes">Recipes</a> for {RECIPES.map(({ tool }) => tool).join(', ')}.
        </li>
        <li>
          <a href="/docs/agents">AI agents</a>: the endpoint for the Model Context Protocol, and the settings of
          clients.
        </li>
        <li>
          <a href="/docs/problems">Problems</a>: what each error means and what to do about it.
        </li>
        <li>
          <a href="/docs/psa">For the PSA</a>: the interface for the ticketing system itself.
        </li>
        <li>
          <a href="/settings">Settings</a>: where administrators create and revoke keys.
        </li>
      </ul>
      <h2>Check a key</h2>
      <Code label="Check a key with curl">{`curl ${origin}/api/v1/ping -H "Authorization: Bearer $TICKETS_API_KEY"`}</Code>
    </Page>
  );
}

interface ReferenceProps {
  origin: string;
  /** The limits of this deployment. */
  limits: { keyLimit: RateLimitPolicy; ipLimit: RateLimitPolicy; dayLimits: DayLimits };
}

export function Reference({ origin, limits }: ReferenceProps) {
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
        All paths begin with <code>{`${origin}/api/v1`}</code>. To try a request, select Authorize and enter a key.
        Start with ping. The same reference is available as an <a href="/api/v1/openapi.json">OpenAPI 3.1 document</a>.
      </p>
      <p>
        Limits: {policyInWords(limits.keyLimit)} per key, unless the key has its own limit, and{' '}
        {policyInWords(limits.ipLimit)} per source address. {dayLimitsSentence(limits.dayLimits)}
      </p>
      <noscript>
        <p>This page needs JavaScript. The OpenAPI document above has the same content.</p>
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
        Errors are <code>application/problem+json</code>. Every error except the 401 has a <code>code</code>, a{' '}
        <code>detail</code> that says what to do, and a <code>requestId</code> to include when you ask for help. In your
        automation, check the code and not the text, which can change.
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
                <td data-label="Status">{status}</td>
                <td>
                  <Text>{meaning}</Text>
                </td>
                <td data-label="What to do">
                  <Text>{remedy}</Text>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
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

export function Recipes() {
  return (
    <Page title="Recipes">
      <p>How to call the API from each tool:</p>
      <ul>
        {RECIPES.map(({ slug, tool }) => (
          <li>
            <a href={`/docs/recipes/${slug}`}>{tool}</a>
          </li>
        ))}
      </ul>
      <h2>Rules for every tool</h2>
      <Table head={['Question', 'Answer']} rows={RULES} />
    </Page>
  );
}

export function RecipePage({ recipe, origin }: { recipe: Recipe; origin: string }) {
  const { tool, tried, steps, retries, example, download } = recipe;
  return (
    <Page title={tool}>
      <p class="tried">
        <Text>{tried}</Text>
      </p>
      <Table head={['Setting', 'Value']} rows={[...steps, ['Retries', retries]]} />
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
        For rules that apply to every tool, such as how to choose an Idempotency-Key, see{' '}
        <a href="/docs/recipes">Recipes</a>.
      </p>
    </Page>
  );
}

export function Keys({ keyPrefix }: { keyPrefix: string }) {
  return (
    <Page title="Key format">
      <p>
        This page is for secret scanners. The format lets a scanner find keys in code and text without false positives
        and without calling this service. If you find a key, ask an administrator to revoke it.
      </p>
      <Table
        head={['Property', 'Value']}
        rows={[
          ['Regular expression', `\`${keyPattern(keyPrefix)}\``],
          ['Checksum', CHECKSUM_RULE],
        ]}
      />
      <h2>Example</h2>
      <Code label="Check the checksum in Node.js">{CHECKSUM_EXAMPLE}</Code>
    </Page>
  );
}
