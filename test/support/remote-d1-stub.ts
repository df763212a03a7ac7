import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { buffer, text } from 'node:stream/consumers';
import * as z from 'zod';
import type { ObjectStore } from '../../src/lib/object-store.ts';
import { MINIMAL, writeDeployments } from './deployments.ts';
import { listen } from './listen.ts';

const request = z.strictObject({ batch: z.array(z.strictObject({ sql: z.string(), params: z.array(z.unknown()) })) });

const OBJECTS = `/accounts/${MINIMAL.account}/r2/buckets/ticket-write-back-archive/objects`;

/**
 * Serves a local database, and the bucket of its archive, as Cloudflare's API does. Accepts one token,
 * account, database and bucket, which are in `env`.
 */
export async function serveRemoteD1(
  db: D1Database,
  archive?: ObjectStore,
): Promise<{ env: Record<string, string>; close: () => Promise<void> }> {
  /** The objects of the bucket: PUT, GET and DELETE of one, GET of a list with a page of one object. */
  const answerBucket = async (incoming: IncomingMessage, bucket: ObjectStore): Promise<[number, unknown]> => {
    const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://api');
    if (pathname === OBJECTS) {
      const { objects } = await bucket.list(
        searchParams.get('prefix') ?? '',
        searchParams.get('start_after') ?? undefined,
      );
      const result = objects
        .slice(0, 1)
        .map(({ name, size, storedAt }) => ({ key: name, size, last_modified: new Date(storedAt).toISOString() }));
      return [200, { success: true, result, result_info: { is_truncated: objects.length > 1 } }];
    }
    const name = decodeURIComponent(pathname.slice(OBJECTS.length + 1));
    if (incoming.method === 'PUT') {
      const bytes = new Uint8Array(await buffer(incoming));
      await bucket.put(name, bytes, createHash('sha256').update(bytes).digest('hex'));
      return [200, { success: true }];
    }
    if (incoming.method === 'DELETE') {
      await bucket.delete([name]);
      return [200, { success: true }];
    }
    const bytes = await bucket.get(name);
    return bytes ? [200, bytes] : [404, { success: false }];
  };
  const answer = async (incoming: IncomingMessage): Promise<[number, unknown]> => {
    if (incoming.headers.authorization !== 'Bearer good')
      return [403, { success: false, errors: [{ code: 10000, message: 'Authentication error' }] }];
    if (archive && incoming.url?.startsWith(OBJECTS)) return answerBucket(incoming, archive);
    if (incoming.url !== `/accounts/${MINIMAL.account}/d1/database/${MINIMAL.database}/query`)
      return [404, { success: false, errors: [{ code: 7404, message: 'not found' }] }];
    const { batch } = request.parse(JSON.parse(await text(incoming)));
    try {
      const result = await db.batch(batch.map(({ sql, params }) => db.prepare(sql).bind(...params)));
      return [200, { success: true, errors: [], messages: [], result }];
    } catch (err) {
      return [400, { success: false, errors: [{ code: 7500, message: String(err) }] }];
    }
  };
  const server = createServer(async (incoming, response) => {
    const [status, body] = await answer(incoming);
    if (body instanceof Uint8Array) response.writeHead(status).end(body);
    else response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  });
  return {
    env: {
      CLOUDFLARE_API_BASE_URL: await listen(server),
      CLOUDFLARE_API_TOKEN: 'good',
      ...(await writeDeployments({ production: { archive: archive !== undefined } })),
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
