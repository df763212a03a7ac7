import { env } from 'cloudflare:workers';
import { apiKey } from '@better-auth/api-key';
import { betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { plainInput, plainInserts } from './plain-write.ts';

/**
 * Nowhere near, and no new window during a run: of several requests that open one, the plugin may
 * refuse some.
 */
const LIMIT = { maxRequests: 1_000_000_000, timeWindow: 24 * 60 * 60 * 1000 };

/**
 * An instance for one request, as its users on Workers make it: one that is kept holds on to the
 * I/O of an earlier request, and after some seconds refuses good keys.
 */
const makeAuth = () =>
  betterAuth({
    baseURL: 'http://bench.example',
    secret: 'only-for-a-benchmark-on-loopback-0123456789',
    database: env.DB,
    plugins: [apiKey({ maximumNameLength: 64, rateLimit: LIMIT })],
    logger: { disabled: true },
    emailAndPassword: { enabled: true },
  });

/**
 * better-auth's API-key plugin on its own D1 dialect, with its per-key limit on, and the floor's
 * write behind it. There is no limit by address. `GET /setup?organization&key&count` makes its
 * tables and keys, and answers their values, one in a line; `GET /verify` authenticates only.
 */
export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    const auth = makeAuth();
    if (pathname === '/setup')
      return new Response(
        await setup(
          auth,
          `${searchParams.get('organization')}:${searchParams.get('key')}`,
          Number(searchParams.get('count')),
        ),
      );

    const value = request.headers.get('Authorization')?.slice('Bearer '.length) ?? '';
    const { valid, key, error } = await auth.api.verifyApiKey({ body: { key: value } });
    if (!valid || !key) return Response.json(error, { status: 401 });
    if (pathname === '/verify') return Response.json({ ok: true, keyName: key.name });

    // The key's name says for which organization and with which key of ours the records are
    // written.
    const [organizationId = '', keyId = ''] = key.name.split(':');
    const input = await plainInput(request);
    if (!input) return new Response(null, { status: 422 });
    const { id, insertEntry, insertAudit } = plainInserts(env.DB, {
      organizationId,
      keyId,
      keyName: 'better-auth',
      ...input,
    });
    await env.DB.batch([insertEntry, insertAudit]);
    return Response.json({ entry: { id, ...input, status: 'SUBMITTED', hourlyRate: 150 } }, { status: 201 });
  },
} satisfies ExportedHandler<Env>;

async function setup(auth: ReturnType<typeof makeAuth>, name: string, count: number): Promise<string> {
  await (await getMigrations(auth.options)).runMigrations();
  const { user } = await auth.api.signUpEmail({
    body: { email: 'ada@northwind.example', password: crypto.randomUUID(), name: 'Ada' },
  });
  const limits = { rateLimitEnabled: true, rateLimitMax: LIMIT.maxRequests, rateLimitTimeWindow: LIMIT.timeWindow };
  const make = () => auth.api.createApiKey({ body: { userId: user.id, name, ...limits } });
  const keys = await Promise.all(Array.from({ length: count }, make));
  return keys.map(({ key }) => key).join('\n');
}
