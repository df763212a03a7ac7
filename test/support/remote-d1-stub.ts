import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import * as z from 'zod';

const request = z.strictObject({ batch: z.array(z.strictObject({ sql: z.string(), params: z.array(z.unknown()) })) });

/**
 * Serves a local database as Cloudflare's API does. Accepts one token, account and database, which
 * are in `env`.
 */
export async function serveRemoteD1(
  db: D1Database,
): Promise<{ env: Record<string, string>; close: () => Promise<void> }> {
  const answer = async (incoming: IncomingMessage): Promise<[number, unknown]> => {
    if (incoming.headers.authorization !== 'Bearer good')
      return [403, { success: false, errors: [{ message: 'Authentication error' }] }];
    if (incoming.url !== '/accounts/acc/d1/database/base/query')
      return [404, { success: false, errors: [{ message: 'not found' }] }];
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
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port }: AddressInfo = z
    .object({ port: z.number(), address: z.string(), family: z.string() })
    .parse(server.address());
  return {
    env: {
      CLOUDFLARE_API_BASE_URL: `http://127.0.0.1:${port}`,
      CLOUDFLARE_ACCOUNT_ID: 'acc',
      CLOUDFLARE_API_TOKEN: 'good',
      D1_DATABASE_ID: 'base',
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
