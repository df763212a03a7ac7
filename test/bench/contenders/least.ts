import { Hono } from 'hono';
import * as z from 'zod';
import { LIMIT } from '../limits.ts';
import { findPlainKey, hashOf, mayWrite, plainWrite } from './plain.ts';

export { RateLimiter } from '../../../src/durable-objects/rate-limiter.ts';

const BODY = z.strictObject({ minutes: z.int(), description: z.string(), billable: z.boolean() });
const keys = new Map<string, NonNullable<Awaited<ReturnType<typeof findPlainKey>>>>();

/**
 * The limit of a write with a known key: the same framework, validator and calls as this Worker, with nothing between
 * them. The key comes from the isolate's memory, forever.
 */
export default new Hono<{ Bindings: Env }>().post('/api/v1/tickets/:ticket/time-entries', async (c) => {
  const { DB, RATE_LIMITER } = c.env;
  const admits = async (name: string) => (await RATE_LIMITER.getByName(name).take(LIMIT)).admitted;
  if (!(await admits(`ip:${c.req.header('CF-Connecting-IP')}`))) return c.body(null, 429);
  const hash = await hashOf(c.req.header('Authorization'));
  const key = keys.get(hash) ?? (await findPlainKey(DB, hash));
  if (!key || !mayWrite(key)) return c.body(null, 401);
  keys.set(hash, key);
  if (!(await admits(`key:${key.id}`))) return c.body(null, 429);

  const body = BODY.safeParse(await c.req.json());
  if (!body.success) return c.body(null, 422);
  return c.json(await plainWrite(DB, key, { ticketId: c.req.param('ticket'), ...body.data }), 201);
});
