import { hashKey } from '../../../src/domain/api-key.ts';
import { plainInput, plainInserts } from './plain-write.ts';

export { RateLimiter } from '../../../src/durable-objects/rate-limiter.ts';

const LIMIT = { quota: 10_000, windowMs: 1_000 };
const FIND_KEY = `select api_keys.organization_id, api_keys.id, api_keys.name, expires_at, revoked_at, scopes, has_psa
  from api_keys join organizations on organizations.id = organization_id where hash = ?1`;

interface PlainKey {
  organization_id: string;
  id: string;
  name: string;
  expires_at: number | null;
  revoked_at: number | null;
  scopes: string;
  has_psa: number;
}

/**
 * What everything here is compared with: the least that such a service does, without a framework.
 * Two limiter calls, one read of the key, one batch of two plain inserts; no idempotency, and
 * nothing checked again at the moment of the write.
 */
export default {
  async fetch(request, env) {
    const address = request.headers.get('CF-Connecting-IP') ?? 'none';
    if (!(await env.RATE_LIMITER.getByName(`ip:${address}`).take(LIMIT)).admitted)
      return new Response(null, { status: 429 });
    const hash = await hashKey(request.headers.get('Authorization')?.slice('Bearer '.length) ?? '');
    const key = await env.DB.prepare(FIND_KEY).bind(hash).first<PlainKey>();
    if (
      !key ||
      key.revoked_at !== null ||
      (key.expires_at ?? Infinity) <= Date.now() ||
      !key.scopes.includes('tickets:time:write')
    )
      return new Response(null, { status: 401 });
    if (!(await env.RATE_LIMITER.getByName(`key:${key.id}`).take(LIMIT)).admitted)
      return new Response(null, { status: 429 });
    if (key.has_psa !== 1) return new Response(null, { status: 403 });

    const input = await plainInput(request);
    if (!input) return new Response(null, { status: 422 });
    const entry = { organizationId: key.organization_id, keyId: key.id, keyName: key.name, ...input };
    const { id, insertEntry, insertAudit } = plainInserts(env.DB, entry);
    await env.DB.batch([insertEntry, insertAudit]);
    return Response.json({ entry: { id, ...input, status: 'SUBMITTED', hourlyRate: 150 } }, { status: 201 });
  },
} satisfies ExportedHandler<Env>;
