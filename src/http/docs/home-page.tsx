import { Code } from '../page/code.tsx';
import { Page } from './layout.tsx';
import { RECIPES } from './recipes.ts';

export function Home({ origin }: { origin: string }) {
  return (
    <Page title="Documentation" path="/docs">
      <p>
        Automations use this API to write the results of their work back to a ticket, as internal notes and time
        entries.
      </p>
      <ul>
        <li>
          <a href="/docs/reference">Reference</a>: every request and response, with a form to try them.
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
