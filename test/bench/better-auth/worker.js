// The API key of better-auth, with its limit, in front of this Worker's write: the same statements in one call of D1.
// GET /?hash=…&keys=8 prepares it with the hash of a key of this service, and returns keys of better-auth.

import { env } from 'cloudflare:workers';
import { apiKey } from '@better-auth/api-key';
import { betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { timeEntryRequest } from '../../../src/domain/record-kinds.ts';
import { readKey, sameWrite } from '../contenders/same-write.ts';
import { LIMIT } from '../limits.ts';

/** The calls of D1 and their rows since the last response. */
let cost = { calls: 0, read: 0, written: 0 };

const database = counted(env.DB);
const options = {
  database,
  secret: 'a secret of thirty-two characters',
  baseURL: 'http://localhost',
  plugins: [apiKey({ rateLimit: { maxRequests: LIMIT.quota, timeWindow: LIMIT.windowMs } })],
};
/** Created by a request, because it reads the database. */
let auth;
let key;

export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (request.method === 'GET')
      return Response.json(await start(searchParams.get('hash'), Number(searchParams.get('keys'))));
    cost = { calls: 0, read: 0, written: 0 };
    const value = request.headers.get('Authorization')?.slice('Bearer '.length);
    const { valid } = await auth.api.verifyApiKey({ body: { key: value, permissions: { tickets: ['write'] } } });
    if (!valid) return new Response(null, { status: 401 });
    const body = timeEntryRequest.parse(await request.json());
    const entry = await sameWrite(database, key, {
      body,
      requestId: crypto.randomUUID(),
      ticketId: pathname.split('/')[4],
      idempotencyKey: request.headers.get('Idempotency-Key'),
      sourceAddress: request.headers.get('CF-Connecting-IP'),
      userAgent: request.headers.get('User-Agent'),
    });
    return Response.json({ entry, cost }, { status: 201 });
  },
};

async function start(hash, count) {
  key = await readKey(env.DB, hash);
  await (await getMigrations(options)).runMigrations();
  auth = betterAuth(options);
  const { adapter } = await auth.$context;
  const user = await adapter.create({
    model: 'user',
    data: {
      name: 'Ada',
      email: 'ada@northwind.example',
      emailVerified: true,
      createdAt: new Date(),
      updatedAt: new Date(),
    },
  });
  const body = { userId: user.id, permissions: { tickets: ['write'] } };
  const created = await Promise.all(Array.from({ length: count }, () => auth.api.createApiKey({ body })));
  return { keys: created.map(({ key }) => key) };
}

/** A database that counts. */
function counted(d1) {
  const add = (results) => {
    cost.calls += 1;
    for (const { meta } of results) {
      cost.read += meta.rows_read;
      cost.written += meta.rows_written;
    }
  };
  const statement = (prepared) => ({
    prepared,
    bind: (...values) => statement(prepared.bind(...values)),
    async all() {
      const result = await prepared.all();
      add([result]);
      return result;
    },
  });
  return {
    prepare: (sql) => statement(d1.prepare(sql)),
    async batch(statements) {
      const results = await d1.batch(statements.map(({ prepared }) => prepared));
      add(results);
      return results;
    },
    exec: (sql) => d1.exec(sql),
  };
}
