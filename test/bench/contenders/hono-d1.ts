import { Hono } from 'hono';
import { hashKey } from '../../../src/domain/api-key.ts';
import { plainInput, plainInserts } from './plain-write.ts';

const FIND_KEY = 'select organization_id, id, name from api_keys where hash = ?1 and revoked_at is null';

interface PlainKey {
  organization_id: string;
  id: string;
  name: string;
}

/** The smallest such service on the same framework: it reads the key and writes two rows. */
export default new Hono<{ Bindings: Env }>().post('/api/v1/tickets/:ticket/time-entries', async (c) => {
  const hash = await hashKey(c.req.header('Authorization')?.slice('Bearer '.length) ?? '');
  const key = await c.env.DB.prepare(FIND_KEY).bind(hash).first<PlainKey>();
  if (!key) return c.body(null, 401);
  const input = await plainInput(c.req.raw);
  if (!input) return c.body(null, 422);
  const entry = { organizationId: key.organization_id, keyId: key.id, keyName: key.name, ...input };
  const { id, insertEntry, insertAudit } = plainInserts(c.env.DB, entry);
  await c.env.DB.batch([insertEntry, insertAudit]);
  return c.json({ entry: { id, ...input } }, 201);
});
