import type { Context, Next } from 'hono';
import type { ApiEnv } from '../hono-env.ts';
import { Problem } from '../problems.ts';
import { rateLimited } from '../rate-limit-response.ts';
import { takeFromLimit } from '../take-from-limit.ts';

/** The limit of a key, shared by all keys of a rotation chain. */
export async function keyLimit(c: Context<ApiEnv>, next: Next): Promise<void> {
  const { organizationId, chainId } = c.get('principal');
  const { keyLimit: requestLimit } = c.get('config');
  const applied = await takeFromLimit(c, { name: 'key', subject: `${organizationId}:${chainId}`, requestLimit });
  const isRefused = applied?.decision.admitted === false;
  // A cached key may be revoked by now, and then gets the 401.
  const check = c.get('keyCheck');
  if (isRefused && check.isStale) await check.refresh();
  if (applied) c.set('appliedLimit', applied);
  if (isRefused) throw new Problem(...rateLimited(applied));
  await next();
}
