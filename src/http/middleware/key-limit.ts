import type { MiddlewareHandler } from 'hono';
import type { Principal } from '../../domain/api-key.ts';
import { stricter } from '../../domain/request-limit.ts';
import type { ApiEnv, AppEnv, AppliedLimit, ContextOf } from '../hono-env.ts';
import { Problem } from '../problems.ts';
import { rateLimited, takeFromLimit } from '../take-from-limit.ts';

/** The stricter of the key's and the deployment's limit, shared by all keys of a rotation chain. */
export function keyLimit(): MiddlewareHandler<ApiEnv> {
  return async function keyLimit(c, next) {
    const principal = c.get('principal');
    const check = c.get('keyCheck');
    let applied = await take(c, principal);
    if (refused(applied) && check.isStale) {
      // Refused by a cached limit: the key may be revoked by now, or have a different limit.
      const current = await check.refresh();
      c.set('principal', current);
      const isSame =
        current.limit?.quota === principal.limit?.quota && current.limit?.windowMs === principal.limit?.windowMs;
      if (!isSame) applied = await take(c, current);
    }
    if (applied) c.set('appliedLimit', applied);
    if (refused(applied)) throw new Problem(...rateLimited(applied));
    await next();
  };
}

function take(c: ContextOf<AppEnv>, { organizationId, chainId, limit }: Principal): Promise<AppliedLimit | undefined> {
  const requestLimit = stricter(limit, c.get('config').keyLimit);
  return takeFromLimit(c, { name: 'key', subject: `${organizationId}:${chainId}`, requestLimit });
}

function refused(applied: AppliedLimit | undefined): applied is AppliedLimit {
  return applied?.decision.admitted === false;
}
