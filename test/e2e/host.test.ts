import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeConfigs } from '../../src/dev/render-configs.ts';
import { withLocalD1 } from '../../src/ops/local.ts';
import { makeKey } from '../reliability/restartable.ts';
import type { LocalDatabase } from '../support/command.ts';
import { serveTogether } from '../support/server.ts';
import { copyDatabase } from '../support/shared.ts';

// Two Workers in one `wrangler dev`, connected by real service bindings: the example PSA calls this
// service.
let local: LocalDatabase;
let psa: Awaited<ReturnType<typeof serveTogether>>;

beforeAll(async () => {
  local = await copyDatabase();
  const configs = ['test/e2e/host/wrangler.toml', writeConfigs().main.path];
  psa = await serveTogether(configs, local.persistTo, (url) => fetch(`${url}/api/v1/ping`));
});

afterAll(async () => {
  await psa?.close();
  await local.remove();
});

const json = async (path: string): Promise<unknown> => (await fetch(`${psa.url}${path}`)).json();
const text = async (path: string): Promise<string> => (await fetch(`${psa.url}${path}`)).text();

test('a PSA pushes its directory, receives what is written, shows it escaped and approves it', async () => {
  const statuses = (status: string) => ({ ok: true, value: { written: true, records: Array(4).fill({ status }) } });
  expect(await json('/push')).toEqual(statuses('created'));
  expect(await json('/push')).toEqual(statuses('unchanged'));

  const { value } = await withLocalD1(local.persistTo, (db) => makeKey(db, 'northwind', 'n8n & friends'));
  const post = async (path: string, body: object): Promise<{ status: number; body: unknown }> => {
    const headers = { Authorization: `Bearer ${value}`, 'Content-Type': 'application/json', 'Idempotency-Key': 'once' };
    const response = await fetch(`${psa.url}/api/v1/tickets/1001/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return { status: response.status, body: await response.json() };
  };
  const time = { minutes: 30, description: 'Cleared the "print" queue', billable: true };
  expect(await post('notes', { message: '<script>alert("pwned")</script>' })).toMatchObject({ status: 201 });
  expect(await post('time-entries', time)).toMatchObject({
    status: 201,
    body: { entry: { status: 'SUBMITTED', hourlyRate: 120 } },
  });

  const shown = await text('/');
  expect(shown).toContain('1001: &lt;script&gt;alert(&quot;pwned&quot;)&lt;/script&gt; (n8n &amp; friends, internal)');
  const entry = /id="([0-9a-f-]{36})">1001: Cleared the &quot;print&quot; queue \(n8n &amp; friends, SUBMITTED\)/.exec(
    shown,
  )?.[1];
  expect(await json(`/approve?entry=${entry}`)).toEqual({ ok: true, value: { status: 'APPROVED' } });
  expect(await json(`/approve?entry=${entry}`)).toEqual({ ok: true, value: { status: 'APPROVED' } });

  expect(await text('/')).toContain('(n8n &amp; friends, APPROVED)');
  expect(await post('time-entries', time)).toMatchObject({
    status: 200,
    body: { entry: { id: entry, status: 'APPROVED' }, idempotentReplay: true },
  });
});
