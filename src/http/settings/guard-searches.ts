import type { MiddlewareHandler } from 'hono';
import { containsKey } from '../../domain/pasted-keys.ts';
import type { AdminEnv, AppEnv } from '../hono-env.ts';
import { pageContext, redirectWith } from './page-context.ts';

const NOTICE =
  'A whole key is not searched for. It may be in your browser’s history: rotate it. “Which key is this?” keeps a key out of URLs.';

/** Leads to the page without the parameters that contain a key value, so that no page searches for it or shows it again. */
export function guardSearches<E extends AdminEnv | AppEnv>(): MiddlewareHandler<E> {
  return async function guardSearches(c, next) {
    const { pathname, searchParams } = new URL(c.req.url);
    const { keyPrefix } = c.get('config');
    const given = [...searchParams];
    const safe = given.filter(([, value]) => !containsKey(value, keyPrefix));
    if (c.req.method !== 'GET' || safe.length === given.length) return next();
    const path = pathname.slice(pageContext(c)?.base.length ?? '/settings'.length);
    return redirectWith(c, safe.length > 0 ? `${path}?${new URLSearchParams(safe)}` : path, NOTICE, 'warning');
  };
}
