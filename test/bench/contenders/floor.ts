import { hashKey } from '../../../src/domain/api-key.ts';
import { FIND_KEY, LIMIT, mayWrite, type PlainKey } from './plain-key.ts';
import { plainInput, plainInserts } from './plain-write.ts';

export { RateLimiter } from '../../../src/durable-objects/rate-limiter.ts';

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
    if (!key || !mayWrite(key)) return new Response(null, { status: 401 });
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
