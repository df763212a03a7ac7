import { Hono } from 'hono';
import { securityTxt } from '../domain/security-contact.ts';
import type { AppEnv } from './hono-env.ts';
import { requireHost } from './middleware/guard.ts';

const CATALOG = '/.well-known/api-catalog';
const CATALOG_TYPE = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"';

/** What other programs look for at fixed paths (RFC 8615): whom to tell of a vulnerability, and which APIs exist. */
export const wellKnown = new Hono<AppEnv>()
  .use(requireHost())
  .get('/security.txt', (c) => {
    const { securityContact } = c.get('config');
    if (!securityContact) return c.notFound();
    const text = securityTxt(securityContact, `${new URL(c.req.url).origin}/.well-known/security.txt`);
    return c.body(text, 200, { 'Content-Type': 'text/plain; charset=utf-8' });
  })
  .get('/api-catalog', (c) => {
    const { origin } = new URL(c.req.url);
    const apis = [
      describe(origin, '/api/v1', '/docs', '/api/v1/openapi.json'),
      ...c
        .get('contributions')
        .flatMap(({ routes }) =>
          routes?.catalog ? [describe(origin, routes.path, routes.catalog.guide, routes.catalog.contract)] : [],
        ),
    ];
    const linkset = [{ anchor: origin + CATALOG, item: apis.map(({ anchor }) => ({ href: anchor })) }, ...apis];
    return c.body(JSON.stringify({ linkset }), 200, {
      'Content-Type': CATALOG_TYPE,
      // Required in the response to HEAD (RFC 9727 §2).
      Link: `<${CATALOG}>; rel="api-catalog"`,
    });
  });

/** The links of one API (RFC 9264 §4.2, relations of RFC 8631). */
function describe(origin: string, path: string, guide: string, contract: string) {
  return {
    anchor: origin + path,
    'service-desc': [{ href: origin + contract, type: 'application/json' }],
    'service-doc': [{ href: origin + guide, type: 'text/html' }],
    status: [{ href: `${origin}/healthz`, type: 'application/json' }],
  };
}
