import { LIMIT } from '../limits.ts';
import { findPlainKey, hashOf, mayWrite, plainWrite } from './plain.ts';

export { RateLimiter } from '../../../src/durable-objects/rate-limiter.ts';

/**
 * The least that such a service does for the first use of a key, without a framework: two limiter calls, one read of the
 * key, one batch of two plain inserts. No idempotency, and nothing is checked again at the moment of the write.
 */
export default {
  async fetch(request, { DB, RATE_LIMITER }) {
    const admits = async (name: string) => (await RATE_LIMITER.getByName(name).take(LIMIT)).admitted;
    if (!(await admits(`ip:${request.headers.get('CF-Connecting-IP')}`))) return new Response(null, { status: 429 });
    const key = await findPlainKey(DB, await hashOf(request.headers.get('Authorization')));
    if (!key || !mayWrite(key)) return new Response(null, { status: 401 });
    if (!(await admits(`key:${key.id}`))) return new Response(null, { status: 429 });
    if (key.has_psa !== 1) return new Response(null, { status: 403 });

    const { minutes, description, billable } = await request.json<Record<string, unknown>>();
    const ticketId = new URL(request.url).pathname.split('/')[4];
    if (
      ticketId === undefined ||
      typeof minutes !== 'number' ||
      typeof description !== 'string' ||
      typeof billable !== 'boolean'
    )
      return new Response(null, { status: 422 });
    const body = await plainWrite(DB, key, { ticketId, minutes, description, billable });
    return Response.json(body, { status: 201 });
  },
} satisfies ExportedHandler<Env>;
