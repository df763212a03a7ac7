import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MODULE_PAGES } from '../../../../src/docs/modules.ts';
import { signWebhook } from '../../../../src/domain/webhook.ts';
import { isInstalled } from '../../../support/command.ts';
import { listen } from '../../../support/listen.ts';
import { codesOfPage } from '../../../support/recipes.ts';

// The code of /docs/psa, run as it is copied.

const run = promisify(execFile);
const markdownOf = (path: string) => MODULE_PAGES.find((page) => page.path === path)?.markdown ?? '';
const psa = markdownOf('/docs/psa');
const changes = markdownOf('/docs/psa/changes');

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'twb-psa-'));
});
afterAll(() => rm(directory, { recursive: true }));

function codeOf(label: string, language: string, origin: string, page = psa): string {
  const code = codesOfPage(page, origin).find((one) => one.label === label);
  const version = code?.versions.find((one) => one.language === language);
  if (!version) throw new Error(`no ${label} in ${language}`);
  return version.text;
}

/** A service that verifies messages with the published library and answers with the body of the message. */
async function startService(secret: string) {
  const received: { path: string | undefined; message: unknown }[] = [];
  const server = createServer(async (request, response) => {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const body = await text(request);
    try {
      const message = new Webhook(secret).verify(body, headers);
      received.push({ path: request.url, message });
      response.end(JSON.stringify({ ok: true, value: message }));
    } catch (err) {
      response.writeHead(401).end(JSON.stringify({ title: String(err) }));
    }
  });
  return { origin: await listen(server), received, close: () => server.close() };
}

test.each([
  `whsec_${btoa('the secret of this test, 32 byte')}`,
  // Bytes whose hexadecimal form has zeros, and more than one line of a dump.
  `whsec_${btoa(String.fromCharCode(...Array.from({ length: 64 }, (_, index) => index)))}`,
])('the shell commands send a message that the published library accepts (%s)', async (secret) => {
  const service = await startService(secret);
  try {
    const script = codeOf('Sign and send a message', 'bash', service.origin);
    const { stdout } = await run('bash', ['-c', script], {
      env: { ...process.env, PSA_SECRET: secret },
      timeout: 20_000,
    });
    expect(stdout).toContain('"ok":true');
    expect(service.received).toEqual([
      { path: '/psa', message: { type: 'work.changes', data: { organization: 'northwind', cursor: null } } },
    ]);
  } finally {
    service.close();
  }
});

test('the secrets of a local service are in a file that only its owner reads, and on no command line', async () => {
  const start = codeOf('Start the service on your machine', 'bash', 'http://localhost:8787');
  const show = `npm() { printf '%s ' "$@"; stat -c %a .dev.vars.psa; }\n`;
  const sh = async (script: string) => (await run('sh', ['-c', script], { cwd: directory })).stdout;
  expect(await sh(show + start)).toBe('start -- --env-file .dev.vars.psa 600\n');
  const read = codeOf('Read the secrets', 'bash', 'http://localhost:8787');
  const variables = await sh(`${read}\nenv | grep -E '^(PSA|WEBHOOK)_' | sort`);
  expect(variables).toMatch(
    /^PSA_SECRET=whsec_.{44}\nWEBHOOK_SECRET=whsec_.{44}\nWEBHOOK_URL=http:\/\/127\.0\.0\.1:8971\/\n$/,
  );
});

/** The test vector of the page by the first cell of its rows. */
const vector = Object.fromEntries(
  Array.from(psa.matchAll(/^\| (secret|id|timestamp|body|signature) \| `(.+)` \|$/gm), ([, name = '', value]) => [
    name,
    value,
  ]),
);

test('the test vector is a signature of the published library', () => {
  const { secret = '', id = '', timestamp, body = '', signature } = vector;
  expect(new Webhook(secret).sign(id, new Date(Number(timestamp) * 1000), body)).toBe(signature);
});

/**
 * How a language runs the code of the page: with the vector, the time and the address of a service in
 * the environment, it prints the results of `sign`, `verify` and `call` as lines of JSON.
 */
const LANGUAGES = [
  {
    language: 'js',
    program: 'node',
    file: 'psa.mjs',
    main: `const { secret, id, timestamp, body, now, origin, empty } = JSON.parse(process.env.INPUT);
const genuine = sign(secret, id, now, body);
const wait = String(now - 400);
console.log(JSON.stringify([
  sign(secret, id, timestamp, body),
  verify('whsec_YW5vdGhlciBzZWNyZXQsIGFsc28gb2YgMzIgYnl0ZXM= ' + secret, id, now, body, 'v1,other ' + genuine),
  verify(secret, id, now, body + ' ', genuine),
  verify('whsec_YW5vdGhlciBzZWNyZXQsIGFsc28gb2YgMzIgYnl0ZXM=', id, now, body, genuine),
  verify(secret, id, wait, body, sign(secret, id, wait, body)),
  await call(origin + '/psa', secret, 'directory.upsert', { name: 'Grüße' }),
  await call(origin + '/psa', 'whsec_YW5vdGhlciBzZWNyZXQsIGFsc28gb2YgMzIgYnl0ZXM=', 'x', {}).catch(() => 'refused'),
  ...[secret + ' ', ' ' + secret, secret + '  ' + secret, '', 'whsec_'].map((secrets) => {
    try {
      return verify(secrets, id, now, body, empty);
    } catch (error) {
      return error.message;
    }
  }),
]));`,
  },
  {
    language: 'python',
    program: 'python3',
    file: 'psa.py',
    main: `import os
given = json.loads(os.environ["INPUT"])
secret, id, body, now, origin = given["secret"], given["id"], given["body"], given["now"], given["origin"]
genuine, wait = sign(secret, id, now, body), str(int(now) - 400)
def refused():
    try:
        return call(origin + "/psa", "whsec_YW5vdGhlciBzZWNyZXQsIGFsc28gb2YgMzIgYnl0ZXM=", "x", {})
    except RuntimeError:
        return "refused"
def verified(secrets):
    try:
        return verify(secrets, id, now, body, given["empty"])
    except ValueError as error:
        return str(error)
print(json.dumps([
    sign(secret, id, given["timestamp"], body),
    verify("whsec_YW5vdGhlciBzZWNyZXQsIGFsc28gb2YgMzIgYnl0ZXM= " + secret, id, now, body, "v1,other " + genuine),
    verify(secret, id, now, body + " ", genuine),
    verify("whsec_YW5vdGhlciBzZWNyZXQsIGFsc28gb2YgMzIgYnl0ZXM=", id, now, body, genuine),
    verify(secret, id, wait, body, sign(secret, id, wait, body)),
    call(origin + "/psa", secret, "directory.upsert", {"name": "Grüße"}),
    refused(),
    *map(verified, [secret + " ", " " + secret, secret + "  " + secret, "", "whsec_"]),
]))`,
  },
] as const;

describe.each(LANGUAGES.filter(({ program }) => isInstalled(program)))(
  'the code in $language',
  ({ language, program, file, main }) => {
    test('signs the test vector, verifies a message, and sends a call', async () => {
      const service = await startService(vector['secret'] ?? '');
      try {
        const parts = ['Sign and verify', 'Send a call'].map((label) => codeOf(label, language, service.origin));
        await writeFile(join(directory, file), [...parts, main].join('\n\n'));
        const now = String(Math.floor(Date.now() / 1000));
        const { id = '', body = '' } = vector;
        // HMAC pads its key with zeros, so a zero signs as the empty key.
        const forged = await signWebhook([new Uint8Array(1)], { id, at: Number(now) * 1000, body });
        const input = { ...vector, now, origin: service.origin, empty: forged['webhook-signature'] };
        const { stdout } = await run(program, [join(directory, file)], {
          env: { ...process.env, INPUT: JSON.stringify(input) },
          timeout: 20_000,
        });
        const message = { type: 'directory.upsert', data: { name: 'Grüße' } };
        const tooShort = 'A secret is missing, or has less than 24 bytes.';
        expect(JSON.parse(stdout)).toEqual([
          ...[vector['signature'], true, false, false, false, message, 'refused'],
          ...[false, false, false, tooShort, tooShort],
        ]);
        expect(service.received).toEqual([{ path: '/psa', message }]);
      } finally {
        service.close();
      }
    });
  },
);

/** Looks for marks on a ticket with two pages of comments, and prints what it found as JSON. */
const SEARCHES = [
  {
    language: 'js',
    program: 'node',
    file: 'find.mjs',
    main: `const PAGES = [[{ id: 1, text: 'Other' }], [{ id: 2, text: 'Ours [twb:b]' }], []];
const psa = async (method, path) => PAGES[new URL(path, 'http://psa').searchParams.get('page') - 1];
const ids = ['b', 'c'].map(async (targetId) => (await find({ ticketId: '1001', targetId }))?.id ?? null);
console.log(JSON.stringify(await Promise.all(ids)));`,
  },
  {
    language: 'python',
    program: 'python3',
    file: 'find.py',
    main: `import json
PAGES = [[{"id": 1, "text": "Other"}], [{"id": 2, "text": "Ours [twb:b]"}], []]
def psa(method, path):
    return PAGES[int(path.split("page=")[1]) - 1]
found = [find({"ticketId": "1001", "targetId": target}) for target in ("b", "c")]
print(json.dumps([one and one["id"] for one in found]))`,
  },
] as const;

test.each(SEARCHES.filter(({ program }) => isInstalled(program)))(
  'the search for a mark in $language reads all pages of a ticket, and ends without one',
  async ({ language, program, file, main }) => {
    await writeFile(join(directory, file), [codeOf('Look for a mark', language, '', changes), main].join('\n\n'));
    const { stdout } = await run(program, [join(directory, file)], { timeout: 20_000 });
    expect(JSON.parse(stdout)).toEqual([2, null]);
  },
);

test('the code was run in at least one language', () => {
  expect(LANGUAGES.some(({ program }) => isInstalled(program))).toBe(true);
});
