import type { Context, NotFoundHandler } from 'hono';
import { accepts } from 'hono/accepts';
import type { AppEnv } from '../http/context.ts';
import { securePages } from '../http/middleware/secure-pages.ts';
import { isOAuthPath, noOAuth } from '../http/no-oauth.ts';
import { READ_ONLY_CSP } from '../http/page/csp.ts';
import { problem } from '../http/problems.ts';
import { Page } from './layout.tsx';

const JSON_TYPE = 'application/json';
const secure = securePages(READ_ONLY_CSP, 'no-referrer');

/**
 * The 404 for an address outside the API: a page for browsers, a problem for everything else. A page of
 * the documentation is found with a slash at the end too.
 */
export const wrongAddress: NotFoundHandler<AppEnv> = async (c) => {
  if (isOAuthPath(c.req.path)) return noOAuth(c);
  if (c.req.path.startsWith('/api/') || !prefersPage(c))
    return problem(c, 'not_found', 'There is nothing at this path; the API is at /api/v1.');
  const page = /^(\/docs(?:\/[a-z0-9-]+)*)\/$/.exec(c.req.path)?.[1];
  if (page !== undefined) return c.redirect(page, 301);
  c.get('requestStats').problem = 'not_found';
  await secure(c, async () => {
    c.res = await c.html(<WrongAddress />, 404);
  });
  return c.res;
};

function prefersPage(c: Context<AppEnv>): boolean {
  const supports = [JSON_TYPE, 'application/problem+json', 'text/html'];
  return accepts(c, { header: 'Accept', supports, default: JSON_TYPE }) === 'text/html';
}

function WrongAddress() {
  return (
    <Page title="Nothing here">
      <p>There is no page at this address. Check it for a typing error, or continue with one of these:</p>
      <ul>
        <li>
          <a href="/docs">Documentation</a>: three steps, recipes and reference
        </li>
        <li>
          <a href="/settings">Settings</a>: for administrators, who manage the keys
        </li>
      </ul>
      <p>
        The API is at <code>/api/v1</code>.
      </p>
    </Page>
  );
}
