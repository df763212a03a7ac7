import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import * as z from 'zod';
import { MINIMAL, writeDeployments } from './deployments.ts';
import { listen } from './listen.ts';

const request = z.strictObject({ batch: z.array(z.strictObject({ sql: z.string(), params: z.array(z.unknown()) })) });

/**
 * Serves a local database as Cloudflare's API does. Accepts one token, account and database, which are in `env`.
 */
export async function serveRemoteD1(
  db: D1Database,
): Promise<{ env: Record<string, string>; close: () => Promise<void> }> {
  const answer = async (incoming: IncomingMessage): Promise<[number, unknown]> => {
    if (incoming.headers.authorization !== 'Bearer good')
      return [403, { success: false, errors: [{ code: 10000, message: 'Authentication error' }] }];
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
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  });
  return {
    env: {
      CLOUDFLARE_API_BASE_URL: await listen(server),
      CLOUDFLARE_API_TOKEN: 'good',
      ...(await writeDeployments({ production: {} })),
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
