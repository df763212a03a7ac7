import type { Context, Next } from 'hono';
import type { ApiEnv } from '../hono-env.ts';
import { problem } from '../problems.ts';
import { rateLimited } from '../rate-limit-response.ts';
import { takeFromLimit } from '../take-from-limit.ts';

/** The limit of a key, shared by all keys of a rotation chain. */
export async function keyLimit(c: Context<ApiEnv>, next: Next) {
  const { organizationId, chainId } = c.get('principal');
  const { keyLimit: requestLimit } = c.get('config');
  const applied = await takeFromLimit(c, { name: 'key', subject: `${organizationId}:${chainId}`, requestLimit });
  if (applied) c.set('appliedLimit', applied);
  if (applied?.decision.admitted === false) return problem(c, ...rateLimited(applied));
  return next();
}
