import type { NotFoundHandler } from 'hono';
import { withoutKeys } from '../domain/pasted-keys.ts';
import type { AppEnv, ContextOf } from './hono-env.ts';
import { invalidHost, pathNotFound, problem } from './problems.ts';

/**
 * Where MCP clients look for an OAuth server after a 401: its metadata (RFC 8414, RFC 9728, OpenID Connect Discovery),
 * also with `/mcp` before or after it, and the registration (RFC 7591).
 */
const OAUTH_PATH =
  /^(?:\/mcp)?\/(?:register|\.well-known\/(?:oauth-(?:protected-resource|authorization-server)|openid-configuration)(?:\/.*)?)$/;

const isOAuthPath = (path: string) => OAUTH_PATH.test(path);

/** Clients show the description to users, who would otherwise only see that a registration failed. */
function noOAuth(c: ContextOf<AppEnv>): Response {
  c.get('requestStats').problem = 'not_found';
  return Response.json(
    {
      error: 'invalid_request',
      error_description:
        'There is no OAuth here. The API key in the Authorization header was missing or refused: check it, and send it as "Authorization: Bearer <key>".',
    },
    { status: 404 },
  );
}

/** What browsers accept begins with it. */
const PAGE_FIRST = /^text\/html(,|$)/;

/** The 404 for an address outside the API: a static page for browsers, a problem for everything else. */
export const notFound: NotFoundHandler<AppEnv> = async (c) => {
  if (isOAuthPath(c.req.path)) return noOAuth(c);
  if (!URL.canParse(c.req.url)) return problem(c, ...invalidHost());
  const isForBrowser = !c.req.path.startsWith('/api/') && PAGE_FIRST.test(c.req.header('Accept') ?? '');
  const page = isForBrowser ? await c.env.ASSETS.fetch(new URL('/404', c.req.url)) : undefined;
  // Not ok: the page was not deployed.
  if (!page?.ok)
    return problem(c, ...pathNotFound(c.req.path, 'There is nothing at this path; the API is at /api/v1.'));
  c.get('requestStats').problem = 'not_found';
  const asked = new HTMLRewriter().on('[data-asked]', {
    element: (element) => void element.setInnerContent(askedPath(c)),
  });
  const headers = new Headers(page.headers);
  headers.set('Cache-Control', 'no-store');
  headers.delete('ETag');
  return asked.transform(new Response(page.body, { status: 404, headers }));
};

/** How many characters of an unknown path a page repeats. */
const SHOWN_PATH = 120;

/** The path of a request for its 404, without keys. */
export const askedPath = (c: ContextOf<AppEnv>) =>
  withoutKeys(c.req.path.slice(0, SHOWN_PATH), c.get('config').keyPrefix);
