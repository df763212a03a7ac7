import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { writeDeployments } from '../../support/deployments.ts';
import { runCli } from '../../support/run-cli.ts';

/** How long the database of a stand-in for the service takes, in milliseconds. */
const LOOKUP_MS = 40;

/** The port of a server that runs until the test ends. */
async function serve(server: ReturnType<typeof createServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

test('the doctor shows whether the database has read replicas, and how long one trip to it takes', async () => {
  let mode = 'disabled';
  const api = createServer(({ url }, response) => {
    const result = url?.endsWith('/query') ? [{ success: true, meta: {} }] : { read_replication: { mode } };
    response.end(JSON.stringify({ success: true, result }));
  });
  const service = createServer((request, response) => {
    const isLookedUp = /^Bearer twb_\w{46}$/.test(request.headers.authorization ?? '');
    setTimeout(() => response.writeHead(401).end(), isLookedUp ? LOOKUP_MS : 0);
  });
  const env = {
    CLOUDFLARE_API_BASE_URL: `http://127.0.0.1:${await serve(api)}`,
    CLOUDFLARE_API_TOKEN: 'good',
    ...(await writeDeployments({ eu: {}, us: {} })),
  };
  const port = await serve(service);
  const run = async () => (await runCli('doctor', [`http://127.0.0.1:${port}`, '--deployment', 'us'], { env })).stdout;
  const [, ms] = /^ok {4}read replication: off: would save one trip to the database, (\d+) ms/m.exec(await run()) ?? [];
  expect(Number(ms)).toBeGreaterThan(LOOKUP_MS / 2);
  mode = 'auto';
  expect(await run()).toMatch(/^ok {4}read replication: on: saves one trip to the database, \d+ ms from here/m);
});
