import type { Context, NotFoundHandler } from 'hono';
import { accepts } from 'hono/accepts';
import type { AppEnv } from './context.ts';
import { isOAuthPath, noOAuth } from './no-oauth.ts';
import { problem } from './problems.ts';

const JSON_TYPE = 'application/json';
const PAGE = '/404';

/** The 404 for an address outside the API: a static page for browsers, a problem for everything else. */
export const notFound: NotFoundHandler<AppEnv> = async (c) => {
  if (isOAuthPath(c.req.path)) return noOAuth(c);
  const page = c.req.path.startsWith('/api/') || !prefersPage(c) ? undefined : await readPage(c);
  if (!page) return problem(c, 'not_found', 'There is nothing at this path; the API is at /api/v1.');
  c.get('requestStats').problem = 'not_found';
  const headers = new Headers(page.headers);
  headers.set('Cache-Control', 'no-store');
  headers.delete('ETag');
  return new Response(page.body, { status: 404, headers });
};

function prefersPage(c: Context<AppEnv>): boolean {
  const supports = [JSON_TYPE, 'application/problem+json', 'text/html'];
  return accepts(c, { header: 'Accept', supports, default: JSON_TYPE }) === 'text/html';
}

/** The page with its security headers; undefined if it was not deployed. */
async function readPage(c: Context<AppEnv>): Promise<Response | undefined> {
  const page = await c.env.ASSETS.fetch(new URL(PAGE, c.req.url));
  return page.ok ? page : undefined;
}
