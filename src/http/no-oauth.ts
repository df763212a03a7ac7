import type { AppEnv, ContextOf } from './hono-env.ts';

/**
 * Where MCP clients look for an OAuth server after a 401: its metadata (RFC 8414, RFC 9728, OpenID Connect Discovery),
 * also with `/mcp` before or after it, and the registration (RFC 7591).
 */
const OAUTH_PATH =
  /^(?:\/mcp)?\/(?:register|\.well-known\/(?:oauth-(?:protected-resource|authorization-server)|openid-configuration)(?:\/.*)?)$/;

export const isOAuthPath = (path: string) => OAUTH_PATH.test(path);

/** Clients show the description to users, who would otherwise only see that a registration failed. */
export function noOAuth(c: ContextOf<AppEnv>): Response {
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
