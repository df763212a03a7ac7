import type { MiddlewareHandler } from 'hono';

/** `requestContext` sets more for all responses. Static pages have theirs in src/assets/_headers, without forms. */
const HEADERS = Object.entries({
  // Resources of this origin only, and no inline script or style.
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Origin-Agent-Cluster': '?1',
  'Referrer-Policy': 'same-origin',
  'X-DNS-Prefetch-Control': 'off',
  'X-Download-Options': 'noopen',
  'X-Frame-Options': 'DENY',
  'X-Permitted-Cross-Domain-Policies': 'none',
  'X-XSS-Protection': '0',
});

/** Sends the security headers of the settings area. */
export function securePages(): MiddlewareHandler {
  return async function securePages(c, next) {
    await next();
    for (const [name, value] of HEADERS) c.res.headers.set(name, value);
  };
}
