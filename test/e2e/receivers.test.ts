import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseWebhookSecrets, signWebhook } from '../../src/domain/webhook.ts';
import { isInstalled } from '../support/command.ts';
import { freePort } from '../support/server.ts';

// The receivers that /docs/psa offers, each with the interpreter that is installed here.

const SECRET = `whsec_${btoa('the secret of this test, 32 byte')}`;
const OTHER = `whsec_${btoa('another secret, also of 32 bytes')}`;
const FILES = 'src/assets/docs/psa';

interface Receiver {
  language: string;
  needs: string[];
  /** The command that serves the port. */
  command: (port: number, directory: string) => string[];
  /** Whether it stores each change, or each page as it came. */
  stores: 'changes' | 'pages';
}

const RECEIVERS: Receiver[] = [
  {
    language: 'Python',
    needs: ['python3'],
    command: (port) => ['python3', `${FILES}/receiver.py`, String(port)],
    stores: 'changes',
  },
  {
    language: 'PHP',
    needs: ['php'],
    // As without a php.ini, where PHP answers an error with 200 on its own.
    command: (port) => ['php', '-d', 'display_errors=1', '-S', `127.0.0.1:${port}`, `${FILES}/receiver.php`],
    stores: 'changes',
  },
  {
    language: 'C#',
    needs: ['mcs', 'mono'],
    command: (port, directory) => {
      const program = join(directory, 'Receiver.exe');
      execFileSync('mcs', [`-out:${program}`, `${FILES}/Receiver.cs`]);
      return ['mono', program, String(port)];
    },
    stores: 'pages',
  },
];
const installed = RECEIVERS.filter(({ needs }) => needs.every(isInstalled));

const change = (seq: number, text: string) => ({ seq, action: 'note.created', note: { message: { text } }, key: null });
const page = (...changes: object[]) =>
  JSON.stringify({ type: 'work.changes', data: { organization: 'northwind', changes, cursor: 'x' } });

describe.each(installed)('the receiver in $language', ({ command, stores }) => {
  let directory: string;
  let server: ChildProcess;
  let url: string;

  async function post(body: string, { id = 'msg_1', secret = SECRET, at = Date.now(), sent = body } = {}) {
    const headers = { ...(await signWebhook(parseWebhookSecrets(secret), { id, at, body })) };
    return (await fetch(url, { method: 'POST', headers, body: sent })).status;
  }

  /** What it has stored: each change by its seq, or each page by its id. */
  async function stored(): Promise<Record<string, unknown>> {
    const from = stores === 'changes' ? join(directory, 'store', 'northwind') : join(directory, 'store');
    const names = await readdir(from).catch(() => []);
    const entries = names.map(async (name) => [name, JSON.parse(await readFile(join(from, name), 'utf8'))]);
    return Object.fromEntries(await Promise.all(entries));
  }

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'twb-receiver-'));
    const port = await freePort();
    url = `http://127.0.0.1:${port}/`;
    const [program = '', ...args] = command(port, directory);
    const env = { ...process.env, WEBHOOK_SECRET: `${OTHER} ${SECRET}`, STORE: join(directory, 'store') };
    server = spawn(program, args, { env, stdio: 'ignore' });
    const listens = () =>
      fetch(url, { method: 'POST' }).then(
        ({ status }) => status === 401,
        () => false,
      );
    while (!(await listens())) await sleep(50);
  });
  afterAll(async () => {
    const closed = once(server, 'close');
    server.kill('SIGKILL');
    await closed;
    await rm(directory, { recursive: true });
  });

  test('refuses what is not signed with its secret, changed on the way, or old', async () => {
    const body = page(change(1, 'forged'));
    const wrong = `whsec_${btoa('a secret that it does not have..')}`;
    expect(await post(body, { secret: wrong })).toBe(401);
    expect(await post(page(change(1, 'other')), { sent: body })).toBe(401);
    expect(await post(body, { at: Date.now() - 400_000 })).toBe(401);
    expect(await post(body, { at: Date.now() + 400_000 })).toBe(401);
    expect((await fetch(url, { method: 'POST', body })).status).toBe(401);
    expect(await stored()).toEqual({});
  });

  test('does not confirm a page that it cannot store', async () => {
    const inTheWay = join(directory, 'store');
    await writeFile(inTheWay, '');
    const status = await post(page(change(1, 'lost?'))).catch(() => 'no response');
    expect(['no response', 500]).toContain(status);
    await rm(inTheWay);
    expect(await stored()).toEqual({});
  });

  test('stores a page once, also if it comes again, signed with either secret', async () => {
    const [first, second] = [page(change(1, 'Grüße 🖨️'), change(2, '"quoted"\n')), page(change(3, 'third'))];
    expect(await post(first)).toBe(204);
    expect(await post(first)).toBe(204);
    expect(await post(second, { id: 'msg_2', secret: OTHER })).toBe(204);
    expect(await post(second, { id: 'msg_2', secret: `${OTHER} ${SECRET}` })).toBe(204);
    expect(await stored()).toEqual(
      stores === 'changes'
        ? { '1.json': change(1, 'Grüße 🖨️'), '2.json': change(2, '"quoted"\n'), '3.json': change(3, 'third') }
        : { 'msg_1.json': JSON.parse(first), 'msg_2.json': JSON.parse(second) },
    );
  });

  test('accepts a message of a type that it does not know, such as an alert, and takes no change from it', async () => {
    const before = Object.keys(await stored());
    const alert = {
      type: 'alert.key_expiring',
      data: { organization: 'northwind', days: 3, changes: [change(9, 'no')] },
    };
    expect(await post('{"type":"test","data":{}}', { id: 'msg_test' })).toBe(204);
    expect(await post(JSON.stringify(alert), { id: 'alert_1' })).toBe(204);
    const messages = stores === 'changes' ? [] : ['msg_test.json', 'alert_1.json'];
    expect(Object.keys(await stored()).sort()).toEqual([...before, ...messages].sort());
  });
});

test('at least one receiver was run', () => {
  expect(installed).not.toEqual([]);
});
