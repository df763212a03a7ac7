import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { adapterDemo } from '../../src/dev/adapter-demo.ts';
import { CRON_TRIGGERS } from '../../src/jobs.ts';
import { importDirectory } from '../../src/ops/import/import-directory.ts';
import { withLocalD1 } from '../../src/ops/local.ts';
import { operatorContext } from '../../src/ops/open-database.ts';
import { makeKey } from '../reliability/restartable.ts';
import { eraseOrganization } from '../support/erase-organization.ts';
import { inLongRuns } from '../support/property.ts';
import { failedStart, freePort, keyIn, printedBy, start, startIn, stop } from '../support/server.ts';
import { copyDatabase } from '../support/shared.ts';

const run = promisify(execFile);

/** The commands for a note and for time. */
const curlsIn = (output: string) => output.split('\n').filter((line) => line.trim().startsWith('curl'));

describe('npm start', () => {
  let directory: string;
  /** The checkout with other variables: its own .dev.vars belongs to the developer. */
  let checkout: string;
  let port: number;
  let chatPort: number;
  let running: { server: ChildProcess; output: string };

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'twb-'));
    checkout = await mkdtemp(join(tmpdir(), 'twb-'));
    const files = (await readdir('.')).filter((name) => !name.startsWith('.'));
    for (const name of files) await symlink(resolve(name), join(checkout, name));
    await writeFile(
      join(checkout, '.dev.vars'),
      '# Staging\nKEY_PREFIX="stg" # as there\nKEY_LIMIT=no limit\nKEY_LIMT=1/10s\n',
    );
    port = await freePort();
    chatPort = await freePort();
    running = await startIn(
      checkout,
      ...['--port', String(port), '--persist-to', directory, '--var', 'KEY_LIMIT:190/10s', '--var', 'COLOUR:blue'],
      ...['--var', `ALERT_URL:http://127.0.0.1:${chatPort}/`, '--var', `SERVICE_URL:http://localhost:${port}`],
    );
  });

  afterAll(async () => {
    await stop(running.server);
    for (const each of [directory, checkout]) await rm(each, { recursive: true });
  });

  const ping = (key: string) =>
    fetch(`http://localhost:${port}/api/v1/ping`, { headers: { Authorization: `Bearer ${key}` } });

  test('uses the variables in .dev.vars, overridden by --var, and warns of unknown ones', async () => {
    const warnings = running.output.split('\n').filter((line) => line.startsWith('Warning: '));
    expect(warnings).toEqual([
      expect.stringMatching(/KEY_LIMT .*\.dev\.vars/),
      expect.stringMatching(/COLOUR .*--var/),
    ]);
    const key = keyIn(running.output);
    expect(key).toMatch(/^stg_/);
    const response = await ping(key);
    expect(response.status).toBe(200);
    expect(response.headers.get('RateLimit-Policy')).toBe('"key";q=190;w=10');
  });

  test('runs the daily jobs after the start', async () => {
    const line = /^\{"event":"database_size","bytes":\d+,"share":0\.?\d*\}$/m;
    await vi.waitFor(() => expect(printedBy(running.server)).toMatch(line), { timeout: 10_000 });
  });

  test('sends an alert when the cron runs, once', async () => {
    const texts: string[] = [];
    const chat = createHttpServer(async (request, response) => {
      texts.push(await text(request));
      response.end('ok');
    });
    await once(chat.listen(chatPort, '127.0.0.1'), 'listening');
    const cron = () =>
      fetch(`http://localhost:${port}/cdn-cgi/handler/scheduled?cron=${encodeURIComponent(CRON_TRIGGERS.frequent)}`);
    try {
      expect((await cron()).status).toBe(200);
      const key = await withLocalD1(directory, async (db) => {
        const made = await makeKey(db, 'northwind', 'n8n');
        const refuse = `insert into refused_uses select organization_id, id, 'scope_missing', 1, ?1, ?1, null, null, null, '', null from api_keys where hint = ?2`;
        await db.prepare(refuse).bind(Date.now(), made.hint).run();
        return made;
      });
      await cron();
      await cron();
      // The local run fires the same trigger, and may be the one that sends it.
      const about = await vi.waitFor(() => {
        const found = texts.filter((body) => body.includes(key.hint));
        expect(found).not.toEqual([]);
        return found;
      });
      expect(about.map((body) => JSON.parse(body))).toEqual([
        {
          text: expect.stringContaining(`northwind: API key ${key.hint} lacks a scope`),
        },
      ]);
    } finally {
      chat.close();
      chat.closeAllConnections();
    }
  });

  test('prints a curl line for a note and one for time, which write once, however often they run', async () => {
    const [note = '', time = ''] = curlsIn(running.output);
    expect((await run('sh', ['-c', note])).stdout).toMatch(/^HTTP\/1\.1 201 Created[\s\S]*\{"note":\{"id":/);
    expect((await run('sh', ['-c', note])).stdout).toContain('"idempotentReplay":true');
    const first = await run('sh', ['-c', time]);
    expect(first.stdout).toContain('HTTP/1.1 201 Created');
    expect(JSON.parse(first.stdout.split('\r\n\r\n').at(-1) ?? '')).toMatchObject({
      entry: { minutes: 30, hourlyRate: 150, status: 'SUBMITTED', billable: true, userId: 'automation' },
      agreementSource: 'company_default',
    });
    const second = await run('sh', ['-c', time]);
    expect(second.stdout).toContain('HTTP/1.1 200 OK');
    expect(second.stdout).toContain('"idempotentReplay":true');
  });

  test('the commands of the README write a note and time with a new event id, in every shell', async () => {
    const [, note = '', time = ''] = (await readFile('README.md', 'utf8'))
      .split('```sh\n')
      .slice(1)
      .map((rest) => rest.split('```', 1)[0] ?? '');
    const script = `${note}\n${time}\necho " $EVENT_ID"`;
    const here = script.replace('twb_…', keyIn(running.output)).replaceAll('localhost:8787', `localhost:${port}`);
    for (const shell of ['sh', 'bash'])
      expect((await run(shell, ['-c', here])).stdout).toMatch(/^\{"note":\{.*\}\{"entry":\{.*\} evt-\d+\n$/);
  });

  test('prints what it waits for, then the key, the curl lines and the addresses together, and nothing of wrangler', () => {
    const lines = running.output.trimEnd().split('\n').filter(Boolean);
    const url = `http://localhost:${port}`;
    const shown = lines.filter((line) => !/^Warning: |^Starting .*: \d+ s$/.test(line));
    expect(shown).toEqual([
      `Starting ${url} ...`,
      expect.stringMatching(/^Ready\. /),
      `  ${keyIn(running.output)}`,
      expect.stringContaining('ticket 1001'),
      expect.stringMatching(`^  curl -i ${url}/api/v1/tickets/1001/notes `),
      expect.stringContaining('open Time'),
      expect.stringMatching(`^  curl -i ${url}/api/v1/tickets/1001/time-entries `),
      expect.stringMatching(` ${url}/api/v1$`),
      expect.stringMatching(` ${url}/docs$`),
      expect.stringMatching(` ${url}/mcp .* ${url}/docs/agents`),
      expect.stringMatching(` ${url}/psa .*404 without PSA_SECRET.* ${url}/docs/psa`),
      expect.stringMatching(` ${url}/settings `),
      expect.stringContaining('Ctrl-C'),
    ]);
  });

  test('logs one line for a request', async () => {
    const before = printedBy(running.server).length;
    const response = await fetch(`http://localhost:${port}/api/v1/ping`);
    expect(response.status).toBe(401);
    await vi.waitFor(() => expect(printedBy(running.server).slice(before)).toContain('/api/v1/ping'), {
      timeout: 10_000,
    });
    // A line of wrangler's own would come later.
    await new Promise((resolve) => setTimeout(resolve, 500));
    // Earlier requests and the cron jobs may log at the same time.
    const lines = printedBy(running.server).slice(before).split('\n');
    expect(lines.filter((line) => line.includes('/api/v1/ping')).map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ event: 'request', route: '/api/v1/ping' }),
    ]);
  });

  test('serves the API over plain HTTP under any host, because people reach it over Docker and LAN', async () => {
    const headers = ['Host: 192.0.2.7', `Authorization: Bearer ${keyIn(running.output)}`];
    const url = `http://localhost:${port}/api/v1/ping`;
    const { stdout } = await run('curl', ['-sS', ...headers.flatMap((header) => ['-H', header]), url]);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, organizationId: 'northwind' });
  });

  test('keeps the data across starts, brings an erased demo organization back, replaces the demo key within the key rules, and reads --env-file in place of .dev.vars', async () => {
    const before = keyIn(running.output);
    await stop(running.server);
    await withLocalD1(directory, async (db) => {
      await eraseOrganization(operatorContext(db), { organization: 'contoso', cursor: null, by: 'Ada' });
      await db.prepare("insert into key_rules values ('northwind', 1, 1, 240, 1)").run();
    });
    const file = join(directory, 'other.vars');
    await writeFile(file, 'KEY_PREFIX=stg\nKEY_LIMIT=2/10s\n');
    running = await startIn(checkout, '--port', String(port), '--persist-to', directory, '--env-file', file);
    expect((await ping(before)).status).toBe(401);
    const response = await ping(keyIn(running.output));
    expect(response.status).toBe(200);
    expect(response.headers.get('RateLimit-Policy')).toBe('"key";q=2;w=10');
  });
});

// The starts that follow are independent of each other.
test.concurrent('an invalid variable stops the start with one line about it', async () => {
  expect(await failedStart('--port', String(await freePort()), '--var', 'KEY_LIMIT:200/60s')).toEqual({
    code: 1,
    output: expect.stringMatching(/^KEY_LIMIT: .*"200\/60s".*\n$/),
  });
});

test.concurrent('an option that wrangler refuses stops the start with its message', async () => {
  expect(await failedStart('--port', String(await freePort()), '--colour', 'blue')).toEqual({
    code: 1,
    output: expect.stringContaining('Unknown argument: colour'),
  });
});

test.concurrent('a database with another schema stops the start with one line and the command that removes its folder', async () => {
  const { persistTo, remove } = await copyDatabase();
  try {
    await withLocalD1(persistTo, (db) => db.prepare('alter table tickets add column title text').run());
    expect(await failedStart('--port', String(await freePort()), '--persist-to', persistTo)).toEqual({
      code: 1,
      output: expect.stringMatching(new RegExp(`^.*another schema \\(tickets\\).* rm -r ${persistTo}/v3\\n$`)),
    });
  } finally {
    await remove();
  }
});

test.concurrent('a port that is in use stops the start', async () => {
  const port = await freePort();
  const other = createServer().listen(port, 'localhost');
  await once(other, 'listening');
  try {
    expect(await failedStart('--port', String(port))).toEqual({
      code: 1,
      output: expect.stringMatching(`^.*:${port} .*\n$`),
    });
  } finally {
    other.close();
  }
});

test.concurrent('a port that is not a number from 1 to 65535 stops the start', async () => {
  for (const port of inLongRuns(['0', 'abc', '70000'], ['70000']))
    expect(await failedStart('--port', port)).toEqual({
      code: 1,
      output: expect.stringMatching(`^--port ${port} is not a port\\. .*\n$`),
    });
});

test.concurrent.for(inLongRuns(['connectwise', 'halo', 'redmine'], ['redmine']))(
  'with --adapter %s, a note and time arrive in the PSA and are printed, also on a ticket that was just created, time that is approved there is approved here, and no alert is about an earlier demo',
  { timeout: 180_000 },
  async (psa, { onTestFinished }) => {
    const port = await freePort();
    const { persistTo, remove } = await copyDatabase();
    await withLocalD1(persistTo, async (db) => {
      // Demos of the day before.
      for (const id of [psa, 'other']) {
        const organization = { type: 'organization', id, name: id, psa: true, timeZone: 'UTC', defaultHourlyRate: 1 };
        await importDirectory(db, JSON.stringify(organization));
        await db
          .prepare("insert into connections (organization_id, adapter_id, reported_at) values (?, 'adapter-1', 1)")
          .bind(id)
          .run();
      }
    });
    const { server, output } = await start('--port', String(port), '--persist-to', persistTo, '--adapter', psa);
    onTestFinished(() => stop(server).then(remove));
    const arrives = (kind: string, id = 'missing', ticket = '501') =>
      vi.waitFor(() => {
        const line = `"adapter_wrote","ticket":"${ticket}","kind":"${kind}","internal":true,"id":"${id}`;
        expect(printedBy(server)).toContain(line);
      }, 60_000);
    const [note = '', time = '', newTicket = '', newNote = ''] = curlsIn(output);
    await arrives('note', 'test-');
    const approve = async () => (await fetch(/open (http:\S+\/approve)/.exec(output)?.[1] ?? '')).text();
    expect(await approve()).toMatch(/^No time entry has arrived yet\./);
    const write = async (line: string) => /"id":"([\w-]+)"/.exec((await run('sh', ['-c', line])).stdout)?.[1];
    const [noteId, entryId] = [await write(note), await write(time)];
    await arrives('note', noteId);
    await arrives('time_entry', entryId);
    expect(await approve()).toBe('1 time entry is approved.\n');
    expect((await run('sh', ['-c', newTicket])).stdout).toBe('Ticket 600 is created.\n');
    await arrives('note', await write(newNote), '600');
    const repeat = async () => expect((await run('sh', ['-c', time])).stdout).toContain('"status":"APPROVED"');
    await vi.waitFor(repeat, { timeout: 60_000, interval: 1_000 });
    expect(printedBy(server)).not.toContain('"event":"alert"');
  },
);

test.concurrent('an adapter without its variables, or that does not exist, stops the start with what is wrong', async () => {
  const args = ['--port', String(await freePort()), '--adapter', 'redmine', '--var', 'REDMINE_URL:http://127.0.0.1:9'];
  const says = /^The variables .* redmine are wrong: TEST_TICKET is missing\..* REDMINE_KEY is missing\. .*\n$/;
  expect(await failedStart(...args)).toEqual({ code: 1, output: expect.stringMatching(says) });
  await expect(adapterDemo('', {}, 1)).rejects.toThrow(/^Name the PSA of the adapter: connectwise, halo, redmine\.$/);
  const none = /^There is no adapter for the PSA autotask: connectwise, halo, redmine\.$/;
  await expect(adapterDemo('autotask', {}, 1)).rejects.toThrow(none);
});
