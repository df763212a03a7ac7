import { hashKey } from '../../../src/domain/api-key.ts';
import { plainInput, plainInserts } from './plain-write.ts';

export { RateLimiter } from '../../../src/durable-objects/rate-limiter.ts';

const LIMIT = { quota: 10_000, windowMs: 1_000 };

interface Ticket {
  company_id: string;
}

/**
 * The same service written one question after the other, without a framework: two limiter calls and
 * eight calls to D1. It looks the record up before it inserts it; the audit row takes its number in
 * its own insert, or concurrent requests would take the same one.
 */
export default {
  async fetch(request, env) {
    const db = env.DB;
    const address = request.headers.get('CF-Connecting-IP') ?? 'none';
    if (!(await env.RATE_LIMITER.getByName(`ip:${address}`).take(LIMIT)).admitted)
      return new Response(null, { status: 429 });
    const hash = await hashKey(request.headers.get('Authorization')?.slice('Bearer '.length) ?? '');
    const key = await db
      .prepare('select * from api_keys where hash = ?1')
      .bind(hash)
      .first<{ organization_id: string; id: string; name: string }>();
    if (!key) return new Response(null, { status: 401 });
    if (!(await env.RATE_LIMITER.getByName(`key:${key.id}`).take(LIMIT)).admitted)
      return new Response(null, { status: 429 });
    const organizationId = key.organization_id;
    const organization = await db
      .prepare('select * from organizations where id = ?1')
      .bind(organizationId)
      .first<{ default_hourly_rate_minor: number }>();
    const input = await plainInput(request);
    if (!organization || !input) return new Response(null, { status: 422 });

    const ticket = await db
      .prepare('select * from tickets where organization_id = ?1 and id = ?2')
      .bind(organizationId, input.ticketId)
      .first<Ticket>();
    const user = await db
      .prepare('select * from users where organization_id = ?1 and is_service = 1')
      .bind(organizationId)
      .first<{ id: string }>();
    if (!ticket || !user) return new Response(null, { status: 404 });
    const agreement = await db
      .prepare('select * from agreements where organization_id = ?1 and company_id = ?2 and active = 1')
      .bind(organizationId, ticket.company_id)
      .first<{ hourly_rate_minor: number }>();
    const rate = agreement?.hourly_rate_minor ?? organization.default_hourly_rate_minor;
    const entry = { organizationId, keyId: key.id, keyName: key.name, ...input };
    const { id, insertEntry, insertAudit } = plainInserts(db, entry, { user: user.id, rate });
    if (
      await db
        .prepare('select id from time_entries where organization_id = ?1 and id = ?2')
        .bind(organizationId, id)
        .first()
    )
      return new Response(null, { status: 409 });
    await insertEntry.run();
    await insertAudit.run();
    return Response.json({ entry: { id, ...input, status: 'SUBMITTED', hourlyRate: rate / 100 } }, { status: 201 });
  },
} satisfies ExportedHandler<Env>;
