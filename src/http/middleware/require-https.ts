import type { MiddlewareHandler } from 'hono';
import { isLoopback } from '../../lib/loopback.ts';
import type { AppEnv } from '../hono-env.ts';
import { Problem, problem } from '../problems.ts';

/** Refuses plain HTTP. A redirect would hide the mistake, and clients would send the key unencrypted each time. */
export function requireHttps(): MiddlewareHandler<AppEnv> {
  return async function requireHttps(c, next) {
    if (isPlainHttp(c.req.url) && !c.get('config').allowPlainHttp) {
      const { code, detail } = httpsRequired();
      return problem(c, code, detail);
    }
    return next();
  };
}

function isPlainHttp(url: string): boolean {
  if (!url.startsWith('http://')) return false;
  // With two Host headers, the URL cannot be parsed, and the host is not known to be loopback.
  const parsed = URL.parse(url);
  return parsed === null || !isLoopback(parsed.hostname);
}

export function httpsRequired(): Problem {
  return new Problem(
    'https_required',
    'This API is served over HTTPS only. Change http:// to https://, and replace the key if the request had one.',
  );
}
