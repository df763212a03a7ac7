import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { drizzle } from 'drizzle-orm/d1';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type PushRow, savePush } from '../../../../src/modules/push/push-statements.ts';
import { remoteDatabase, writeNotes } from '../../../ops/commands/database.ts';
import { runCli } from '../../../support/run-cli.ts';
import { freePort } from '../../../support/server.ts';

const SECRET = `whsec_${btoa('the secret of the PSA in tests.')}`;
const BY = ['--by', 'Ada, ticket 77'];
const SINCE = Date.parse('2026-11-22T08:00:00Z');
const FAILING = {
  confirmedSeq: 1,
  failingSince: SINCE,
  attempts: 7,
  failure: 'HTTP 500',
  nextAttemptAt: SINCE + 600_000,
  stoppedAt: null,
} satisfies PushRow;

interface Received {
  path: string | undefined;
  body: string;
  isSigned: boolean;
}

/** A server that answers with the status and body that `answer` returns, until the end of the test. */
async function listen(answer: (received: Received) => Promise<[status: number, body?: object]>) {
  const server = createServer(async (request, response) => {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const body = await text(request);
    let isSigned = true;
    try {
      new Webhook(SECRET).verify(body, headers);
    } catch {
      isSigned = false;
    }
    const [status, json] = await answer({ path: request.url, body, isSigned });
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(json && JSON.stringify(json));
  });
  const port = await freePort();
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  onTestFinished(close);
  return { origin: `http://127.0.0.1:${port}`, close };
}

describe('the commands of the push and the alerts', () => {
  let remote: Awaited<ReturnType<typeof remoteDatabase>>;
  beforeAll(async () => {
    remote = await remoteDatabase();
    await writeNotes(remote.db, ['one', 'two', 'three']);
  });
  afterAll(() => remote.close());

  const run = (command: string, ...args: string[]) => runCli(command, [...args, '--remote'], { env: remote.env });
  const save = (state: Partial<PushRow>) =>
    savePush(drizzle(remote.db), { organizationId: 'fabrikam', ...FAILING, ...state });

  test('push:status reports that nothing was ever pushed, then the progress of each organization', async () => {
    const before = await run('push:status');
    expect([before.code, before.stderr]).toEqual([0, '']);
    expect(before.stdout).toMatch(/^fabrikam: never pushed; 4 changes waiting, the oldest from 20\S+Z$/m);

    await save({});
    const lines = (await run('push:status')).stdout.split('\n');
    const first = lines.findIndex((line) => line.startsWith('fabrikam'));
    expect(lines.slice(first, first + 3)).toEqual([
      expect.stringMatching(/^fabrikam: confirmed 1 of 4; 3 changes waiting, the oldest from 20\S+Z$/),
      '  failing since 2026-11-22T08:00:00.000Z: 7 attempts; the last failure: HTTP 500',
      '  next attempt at 2026-11-22T08:10:00.000Z',
    ]);
  });

  test('push:status shows that the receiver has stopped a push', async () => {
    await save({ stoppedAt: SINCE, nextAttemptAt: 0 });
    const status = await run('push:status');
    expect(status.stdout).toContain('  STOPPED at 2026-11-22T08:00:00.000Z, because the receiver returned 410');
  });

  test('push:resume sends a signed message to /psa, and print its outcome', async () => {
    const received: unknown[] = [];
    let given: [status: number, body: object] = [200, { ok: true, value: { status: 'resumed' } }];
    const { origin, close } = await listen(async ({ path, body, isSigned }) => {
      received.push([path, isSigned, JSON.parse(body)]);
      return given;
    });
    const send = (command: string, ...args: string[]) =>
      runCli(command, [origin, 'fabrikam', ...args], { env: { PSA_SECRET: SECRET } });
    expect(await send('push:resume', ...BY)).toEqual({
      code: 0,
      stdout: 'The push of organization fabrikam tries again now.\n',
      stderr: '',
    });
    const by = 'Ada, ticket 77';
    expect(received).toEqual([['/psa', true, { type: 'push.resume', data: { organization: 'fabrikam', by } }]]);
    const detail = 'This deployment pushes no changes.';
    given = [409, { ok: false, error: { code: 'not_pushed', detail, errors: [] } }];
    expect(await send('push:resume', ...BY)).toEqual({ code: 1, stdout: '', stderr: `${detail}\n` });
    given = [401, { status: 401 }];
    expect((await send('push:resume', ...BY)).stderr).toMatch(/^401: PSA_SECRET is not one of the deployment/);
    given = [404, { status: 404 }];
    expect((await send('push:resume', ...BY)).stderr).toContain('wrangler secret put PSA_SECRET');
    const sent = received.length;
    const misused = [
      await send('push:resume'),
      await runCli('push:resume', [origin, 'fabrikam', ...BY], { env: { PSA_SECRET: '' } }),
    ];
    expect(misused.map(({ code }) => code)).toEqual([2, 2]);
    expect(received).toHaveLength(sent);
    close();
    expect((await send('push:resume', ...BY)).stderr).toMatch(/^No response: /);
  });

  test('push:test sends samples to a receiver, and messages that it must refuse', async () => {
    const { origin, close } = await listen(async ({ isSigned }) => [isSigned ? 204 : 401]);
    const url = `${origin}/`;
    const env = { WEBHOOK_SECRET: SECRET };
    const tested = await runCli('push:test', [url, '--ticket', '7'], { env });
    expect([tested.code, tested.stderr]).toEqual([0, '']);
    expect(tested.stdout).toContain('a forged event: refused with 401');
    expect(tested.stdout).toContain('an old event: refused with 401');
    expect(tested.stdout).toContain('an event signed with the empty key: refused with 401');
    expect(tested.stdout).toMatch(/with the same 100 changes twice simultaneously: accepted after \d+ ms/);
    close();
    expect((await runCli('push:test', [url], { env })).code).toBe(1);
  });
});
