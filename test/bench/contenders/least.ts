import { Hono } from 'hono';
import * as z from 'zod';
import { hashKey } from '../../../src/domain/api-key.ts';
import { FIND_KEY, LIMIT, mayWrite, type PlainKey } from './plain-key.ts';
import { plainInserts } from './plain-write.ts';

export { RateLimiter } from '../../../src/durable-objects/rate-limiter.ts';

const BODY = z.strictObject({ minutes: z.int(), description: z.string(), billable: z.boolean() });
const keys = new Map<string, PlainKey>();

/**
 * The limit of a write with a known key: the same framework, validator and calls as this Worker, with nothing between
 * them. The key comes from the isolate's memory, forever.
 */
export default new Hono<{ Bindings: Env }>().post('/api/v1/tickets/:ticket/time-entries', async (c) => {
  const { DB, RATE_LIMITER } = c.env;
  const admits = async (name: string) => (await RATE_LIMITER.getByName(name).take(LIMIT)).admitted;
  if (!(await admits(`ip:${c.req.header('CF-Connecting-IP')}`))) return c.body(null, 429);
  const hash = await hashKey(c.req.header('Authorization')?.slice('Bearer '.length) ?? '');
  const key = keys.get(hash) ?? (await DB.prepare(FIND_KEY).bind(hash).first<PlainKey>());
  if (!key || !mayWrite(key)) return c.body(null, 401);
  keys.set(hash, key);
  if (!(await admits(`key:${key.id}`))) return c.body(null, 429);

  const body = BODY.safeParse(await c.req.json());
  if (!body.success) return c.body(null, 422);
  const input = { ticketId: c.req.param('ticket'), ...body.data };
  const entry = { organizationId: key.organization_id, keyId: key.id, keyName: key.name, ...input };
  const { id, insertEntry, insertAudit } = plainInserts(DB, entry);
  await DB.batch([insertEntry, insertAudit]);
  return c.json({ entry: { id, ...input, status: 'SUBMITTED', hourlyRate: 150 } }, 201);
});
