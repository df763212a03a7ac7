import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeConfigs } from '../../src/dev/render-configs.ts';
import { withLocalD1 } from '../../src/ops/local.ts';
import { createApiKey } from '../../src/services/keys/create-key.ts';
import { freePort } from '../support/server.ts';
import { copyDatabase } from '../support/shared.ts';

// Two Workers in one `wrangler dev`, connected by real service bindings: the example PSA calls this
// service.
let local: Awaited<ReturnType<typeof copyDatabase>>;
let server: ChildProcess;
let base: string;

beforeAll(async () => {
  local = await copyDatabase();
  const port = String(await freePort());
  const inspectorPort = String(await freePort());
  base = `http://127.0.0.1:${port}`;
  const configs = ['-c', 'test/e2e/host/wrangler.toml', '-c', writeConfigs().main.path];
  const flags = [
    '--ip',
    '127.0.0.1',
    '--port',
    port,
    '--inspector-port',
    inspectorPort,
    '--persist-to',
    local.persistTo,
  ];
  server = spawn('wrangler', ['dev', ...configs, ...flags, '--show-interactive-dev-session=false'], {
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false', CLOUDFLARE_CF_FETCH_ENABLED: 'false' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  server.stderr?.on('data', (chunk) => {
    errors += chunk;
  });
  for (;;) {
    if (server.exitCode !== null) throw new Error(`wrangler dev ended: ${errors}`);
    const response = await fetch(`${base}/api/v1/ping`).catch(() => undefined);
    if (response?.status === 401) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
});

afterAll(async () => {
  server.kill();
  await once(server, 'close');
  await local.remove();
});

const json = async (path: string): Promise<unknown> => (await fetch(`${base}${path}`)).json();
const text = async (path: string): Promise<string> => (await fetch(`${base}${path}`)).text();

test('a PSA pushes its directory, receives what is written, shows it escaped and approves it', async () => {
  const statuses = (status: string) => ({ ok: true, value: { written: true, records: Array(4).fill({ status }) } });
  expect(await json('/push')).toEqual(statuses('created'));
  expect(await json('/push')).toEqual(statuses('unchanged'));

  const { value } = await withLocalD1(local.persistTo, (db) => {
    const ctx = {
      db,
      now: Date.now,
      deadlineAt: Date.now() + 30_000,
      requestId: 'setup',
      source: { address: null, userAgent: null },
    };
    const scopes = ['tickets:note:write' as const, 'tickets:time:write' as const];
    return createApiKey({ ...ctx, actor: { organizationId: 'northwind', userId: 'ada' } }, 'twb', {
      name: 'n8n & friends',
      scopes,
    });
  });
  const post = async (path: string, body: object): Promise<{ status: number; body: unknown }> => {
    const headers = { Authorization: `Bearer ${value}`, 'Content-Type': 'application/json', 'Idempotency-Key': 'once' };
    const response = await fetch(`${base}/api/v1/tickets/1001/${path}`, {
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
