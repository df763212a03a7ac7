import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { ObjectStore } from '../../../src/lib/object-store.ts';
import { diagnose } from '../../../src/ops/diagnose.ts';
import type { Finding } from '../../../src/ops/probe.ts';
import type { Intercept } from '../../support/proxy.ts';
import { runCli } from '../../support/run-cli.ts';
import { rememberKey } from '../../support/secrets.ts';
import { startTwoDeployments } from '../../support/two-deployments.ts';

type Diagnosis = Parameters<typeof diagnose>[0];

let two: Awaited<ReturnType<typeof startTwoDeployments>>;
let migrations: string[];
beforeAll(async () => {
  two = await startTwoDeployments();
  for (const { key } of two.deployments) await rememberKey(key);
  migrations = (await readdir('migrations')).filter((name) => name.endsWith('.sql'));
});
afterAll(() => two.close());

async function findings(diagnosis: Diagnosis): Promise<Finding[]> {
  const found: Finding[] = [];
  for await (const finding of diagnose(diagnosis)) found.push(finding);
  return found;
}

/** Everything that can be checked of a deployment. */
const all = ({ key, db, name }: (typeof two)['deployments'][number], url: string): Diagnosis => ({
  url: new URL(url),
  key,
  ticket: '1001',
  expected: { keyPrefix: name, keyLimit: { quota: 200, windowMs: 10_000 } },
  database: { db, limit: 10_000_000, migrations },
});

/** The failed checks at the first deployment, each as its name and what it says. */
async function failures(url: string, changes: Partial<Diagnosis> = {}): Promise<[string, string][]> {
  const found = await findings({ ...all(two.deployments[0], url), ...changes });
  return found.filter(({ ok }) => !ok).map(({ check, says }) => [check, says]);
}
const failuresBehind = (intercept: Intercept, changes?: Partial<Diagnosis>) =>
  two.deployments[0].behind(intercept, (url) => failures(url, changes));
const failed = (check: string, says: RegExp) => [check, expect.stringMatching(says)];

test('two deployments in one runtime keep every promise', async () => {
  for (const deployment of two.deployments) {
    const found = await findings(all(deployment, deployment.url));
    expect(found.filter(({ ok }) => !ok)).toEqual([]);
    expect(found.map(({ check }) => check)).toEqual([
      ...['/healthz', 'the clocks', 'a POST without a key', 'the User-Agents of automations'],
      ...['a note that quotes an attack', 'wrong keys', 'forged headers', '/settings', '/docs'],
      ...['/.well-known/security.txt', '/api/v1/openapi.json', '/psa', '/mcp', 'ping', '/mcp with the key'],
      ...['ping again', 'limits', 'note', 'replay', 'mismatch', '422', 'a note over /mcp'],
      ...['schema', 'size', 'erased organizations', 'push', 'archive'],
    ]);
    expect(found.find(({ check }) => check === '/mcp')?.says).toMatch(/^deployed; /);
    const { results } = await deployment.db.prepare('select organization_id, ticket_id from notes').all();
    expect(results).toEqual([{ organization_id: deployment.organization, ticket_id: '1001' }]);
  }
});

describe('a planted fault', () => {
  const isApi = (path: string) => path.startsWith('/api/');
  /** For faults that need no key: all runs together stay below its limit. */
  const WITHOUT_KEY = { key: undefined, ticket: undefined };

  test('a zone rule that strips the Authorization header is found', async () => {
    const found = await failuresBehind(({ headers, path }, pass) => {
      if (isApi(path)) headers.delete('Authorization');
      return pass();
    });
    expect(found).toEqual([failed('ping', /strips the Authorization header/), failed('/mcp with the key', /401/)]);
  });

  const cache = new Map<string, Response>();
  /** Changes the headers of responses. */
  const changing =
    (paths: RegExp, change: (headers: Headers) => void): Intercept =>
    async ({ path }, pass) => {
      const { body, status, headers: given } = await pass();
      const headers = new Headers(given);
      if (paths.test(path)) change(headers);
      return new Response(body, { status, headers });
    };
  const access = () =>
    new Response(null, {
      status: 302,
      headers: { Location: 'https://team.cloudflareaccess.com/cdn-cgi/access/login' },
    });

  // Everything is checked with one command.
  test.each<[string, RegExp, Intercept]>([
    [
      'white space changed in bodies',
      /^FAIL {2}mismatch: .*a proxy changes white space/m,
      ({ method, path, headers, body }, pass) =>
        method === 'POST' && isApi(path) && body !== ''
          ? fetch(two.deployments[0].url + path, { method, headers, body: body.replaceAll(/ {2,}/g, ' ') })
          : pass(),
    ],
    [
      'an open settings area',
      /^FAIL {2}\/settings: open without a sign-in \(200\)/m,
      ({ path }, pass) => (path.startsWith('/settings') ? new Response('API keys') : pass()),
    ],
    [
      'a firewall that blocks a text',
      /^FAIL {2}a note that quotes an attack: .*a firewall blocks by the text/m,
      ({ body }, pass) => (body.includes('<script>') ? new Response('', { status: 403 }) : pass()),
    ],
    [
      'Access in front of the API',
      /^FAIL {2}a POST without a key: Cloudflare Access redirects/m,
      ({ path }, pass) => (isApi(path) ? access() : pass()),
    ],
    [
      'a cookie',
      /^FAIL {2}a POST without a key: Set-Cookie \(__cf_bm\)/m,
      changing(/^\/api\//, (headers) => headers.append('Set-Cookie', '__cf_bm=x; Path=/')),
    ],
    [
      'WWW-Authenticate removed',
      /^FAIL {2}a POST without a key: www-authenticate is missing/m,
      changing(/^\/api\//, (headers) => headers.delete('WWW-Authenticate')),
    ],
    [
      'Content-Security-Policy removed',
      /^FAIL {2}\/settings: content-security-policy lacks/m,
      changing(/^\/settings/, (headers) => headers.delete('Content-Security-Policy')),
    ],
    [
      'a cached ping',
      /^FAIL {2}ping again: a cache in front of the service answers/m,
      async ({ method, path }, pass) => {
        if (method !== 'GET' || !isApi(path)) return pass();
        const stored = cache.get(path) ?? (await pass());
        cache.set(path, stored.clone());
        return stored;
      },
    ],
  ])('the command finds %s', async (_, line, intercept) => {
    const [{ key, behind }] = two.deployments;
    const ran = await behind(intercept, (url) =>
      runCli('doctor', [url, '--key-stdin', '--ticket', '1001'], { input: [key] }),
    );
    expect([ran.code, ran.stderr]).toEqual([1, '']);
    expect(ran.stdout).toMatch(line);
  });

  test('plain http is found', async () => {
    const { url } = two.deployments[0];
    const send: typeof fetch = (input, init) => {
      const { pathname } = new URL(String(input));
      return fetch(url + pathname, init);
    };
    const found = await findings({ url: new URL('https://tickets.example'), send });
    expect(found[0]).toMatchObject({ ok: false, says: expect.stringMatching(/Always Use HTTPS/) });
  });

  test('a wrong clock is found', async () => {
    const found = await failuresBehind(async (_, pass) => {
      const { body, status, headers } = await pass();
      const late = new Date(Date.now() - 300_000).toUTCString();
      return new Response(body, {
        status,
        headers: [...headers].filter(([name]) => name !== 'date').concat([['Date', late]]),
      });
    }, WITHOUT_KEY);
    expect(found).toEqual([failed('the clocks', /(299|300|301) s behind this machine's/)]);
  });

  test('a missing migration is found', async () => {
    const { url } = two.deployments[0];
    const { db } = two.deployments[0];
    const found = await failures(url, {
      ...WITHOUT_KEY,
      database: { db, limit: 10_000_000, migrations: [...migrations, '0099_next_release.sql'] },
    });
    expect(found).toEqual([failed('schema', /lacks 0099_next_release\.sql/)]);
  });

  test('different switches of the two Workers are found', async () => {
    expect(await two.withOtherAgents('paused', failures)).toEqual([
      failed('/mcp', /paused, and the API is open: .*MODE/),
    ]);
  });

  test('an older schema of the Worker for AI agents is found', async () => {
    expect(await two.withOtherAgents('old', failures)).toEqual([failed('a note over /mcp', /another schema/)]);
  });

  test('limits that differ from the file are found', async () => {
    const { url } = two.deployments[0];
    const found = await failures(url, { expected: { keyPrefix: 'eu', keyLimit: { quota: 100, windowMs: 10_000 } } });
    expect(found).toEqual([failed('limits', /is 200\/10s, and KEY_LIMIT 100\/10s/)]);
  });

  test('a nearly full database is found', async () => {
    const { url, db } = two.deployments[0];
    const { meta } = await db.prepare('select 1').all();
    const database = { db, limit: meta.size_after * 1.05, migrations };
    expect(await failures(url, { ...WITHOUT_KEY, database })).toEqual([failed('size', /nearly full: 95\.\d%/)]);
  });

  test('an erased organization that exists is found, unless its return is recorded', async () => {
    const [{ url, db }] = two.deployments;
    const database = { db, limit: 10_000_000, migrations };
    const insert = "insert into organizations values ('globex', 'Globex', 1, 'UTC', 1, 1, 'settings')";
    const erase = [
      `insert into erasures (organization_id, request_id, erased_at, erased_by, last_seq, open, not_exported)
       values ('globex', '1', unixepoch() * 1000, 'FORGED', 0, 1, '[]')`,
      "delete from organizations where id = 'globex'",
      'update erasures set open = 0',
    ];
    for (const sql of [insert, ...erase, insert]) await db.prepare(sql).run();
    expect(await failures(url, { ...WITHOUT_KEY, database })).toEqual([
      failed('erased organizations', /^globex: erased, and created again without a recorded return/),
    ]);
    await db.prepare("update erasures set recreated_at = unixepoch() * 1000, recreated_by = 'psa'").run();
    const found = await findings({ url: new URL(url), database });
    expect(found.find(({ check }) => check === 'erased organizations')).toMatchObject({
      ok: true,
      says: 'created again on request: globex by psa',
    });
  });

  test('a key of the other deployment is found', async () => {
    const [{ url }, { key }] = two.deployments;
    expect((await failures(url, { key }))[0]).toEqual(failed('ping', /begins with us, and KEY_PREFIX is eu/));
  });
});

describe('the command', () => {
  test('prints lines of JSON with request ids, and never the key', async () => {
    const [{ url, key }] = two.deployments;
    const options = ['--key-stdin', '--ticket', '1001', '--json'];
    const { code, stdout, stderr } = await runCli('doctor', [url, ...options], { input: [`${key}\n`] });
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.find(({ check }) => check === 'note')).toEqual({
      ok: true,
      check: 'note',
      says: expect.stringMatching(/^201, wrote the note [\w-]+ on ticket 1001, Idempotency-Key doctor:/),
      requestId: expect.stringMatching(/^[\w-]{36}$/),
    });
    expect(stdout).not.toContain(key.slice(3, 20));
  });

  test('escapes control and format characters of a hostile server, in text and in JSON', async () => {
    const hostile = createServer((_, response) => {
      response.writeHead(500, { 'Content-Type': 'text/html; charset=utf-8' });
      response.end('<title>csi \u009b31m nel \u0085 bidi \u202egnp</title>');
    });
    await once(hostile.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void hostile.close());
    const address = hostile.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    for (const options of [[], ['--json']]) {
      const { stdout } = await runCli('doctor', [url, ...options]);
      expect(stdout).toContain('csi \\u009b31m nel \\u0085 bidi \\u202egnp');
      expect(stdout).not.toMatch(/[\u007f-\u009f\u202e]/);
    }
  });

  test('needs a key for a ticket, and ends with 1 if a check fails', async () => {
    const [{ url }, { key }] = two.deployments;
    expect(await runCli('doctor', [url, '--ticket', '1001'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--ticket and --limits need a key: add --key-stdin.'),
    });
    const wrong = await runCli('doctor', [url, '--key-stdin', '--ticket', '1001'], { input: [key] });
    expect([wrong.code, wrong.stdout]).toEqual([1, expect.stringContaining('1 check failed.')]);
    // The request is found in the log by its id.
    expect(wrong.stdout).toMatch(/^FAIL {2}ping: .* \[[\w-]{36}\]$/m);
  });
});

const refuses = () => Promise.reject(new Error('not expected'));
const NO_STORE: ObjectStore = { get: refuses, put: refuses, delete: refuses, list: refuses, maxDeleted: 1 };

test('an archive whose newest object is missing from the bucket is reported, and so is a damaged archive', async () => {
  const deployment = two.deployments[1];
  const { url, db, organization } = deployment;
  const run = (sql: string) => db.prepare(sql).bind(organization).run();
  await run('insert into releases values (?1, 1, 0)');
  await run(
    `insert into archives (organization_id, from_seq, to_seq, first_at, last_at, last_request_id, object, digest, bytes)
     select organization_id, 1, 1, at, at, request_id, 'us-msp/1', '${'0'.repeat(64)}', 9 from audit_log where organization_id = ?1 and seq = 1`,
  );
  const failedChecks = async (database: Diagnosis['database']) => {
    const found = await findings({ ...all(deployment, url), database });
    return found.filter(({ ok }) => !ok).map(({ check, says }) => [check, says]);
  };
  const verified = async (size: number) => {
    const objects = [{ name: 'us-msp/1', size, storedAt: 0 }];
    const archive = { ...NO_STORE, list: async () => ({ objects, more: false }) };
    return failedChecks({ db, archive, limit: 10_000_000, migrations });
  };
  expect(await verified(9)).toEqual([]);
  expect(await verified(8)).toEqual([failed('archive', /lacks the newest object, us-msp\/1/)]);
  expect(await failedChecks({ db, limit: 10_000_000, migrations })).toEqual([
    failed('archive', /no bucket with the binding ARCHIVE/),
  ]);
  await run('update archives set damaged_at = 1 where organization_id = ?1');
  expect(await verified(9)).toEqual([failed('archive', /1 object missing or damaged/)]);
});

// The last test, because it uses up the limit of the key.
test('with --limits, requests are sent until one is refused with 429 and Retry-After', async () => {
  const [, deployment] = two.deployments;
  const found = await findings({ ...all(deployment, deployment.url), limits: true });
  expect(found.find(({ check }) => check === '429')).toMatchObject({
    ok: true,
    says: expect.stringMatching(/^refused with 429 and Retry-After \d+$/),
  });
});
