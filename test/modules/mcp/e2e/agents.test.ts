import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, onTestFinished, test } from 'vitest';
import { writeConfigs } from '../../../../src/ops/deploy/render-configs.ts';
import { withLocalD1 } from '../../../../src/ops/local.ts';
import { seed } from '../../../reliability/restartable.ts';
import { serveTogether } from '../../../support/server.ts';
import { copyDatabase, sharedServer } from '../../../support/shared.ts';

/** Has the official client of the MCP SDK list the tools and log time. */
async function logTime(url: string, key: string) {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  const { tools } = await client.listTools();
  const { structuredContent } = await client.callTool({
    name: 'log_time',
    arguments: {
      ticketId: '1001',
      minutes: 30,
      description: 'Cleared the print queue',
      billable: true,
      idempotencyKey: `agents:${crypto.randomUUID()}`,
    },
  });
  await client.close();
  return { tools: tools.map(({ name }) => name), structuredContent };
}
const LOGGED = {
  tools: ['add_internal_note', 'log_time'],
  structuredContent: expect.objectContaining({ ticketId: '1001', status: 'SUBMITTED', idempotentReplay: false }),
};

test('npm start serves /mcp on its one port', async () => {
  const { url, key } = await sharedServer();
  expect(await logTime(url, key)).toEqual(LOGGED);
});

test('the two deployed Workers work together', async () => {
  const { persistTo, remove } = await copyDatabase('demo');
  onTestFinished(remove);
  const [seeded] = await withLocalD1(persistTo, (db) => seed(db, 1));
  const key = seeded?.value ?? '';
  const { main, agents } = writeConfigs();
  const post = (origin: string) => fetch(`${origin}/mcp`, { method: 'POST' });
  const { url, close } = await serveTogether([agents.path, main.path], persistTo, post);
  onTestFinished(close);
  expect(await logTime(url, key)).toEqual(LOGGED);

  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  // Only the main Worker has the limiter.
  const { headers: fields } = await fetch(`${url}/mcp`, { method: 'POST', headers, body: '[]' });
  expect(fields.get('RateLimit')).toMatch(/^"key";r=1\d\d;/);
  expect((await fetch(`${url}/api/v1/ping`, { headers })).status).toBe(404);
});
