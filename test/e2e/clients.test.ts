import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { RECIPES } from '../../src/http/docs/recipes.ts';
import { startServer } from '../support/server.ts';

const run = promisify(execFile);
const CLIENTS = join(import.meta.dirname, '../clients');
const answer = z.object({ entry: z.object({ id: z.string() }), idempotentReplay: z.boolean().optional() });

// The published clients run into the limit of their key and lose nothing.
let server: Awaited<ReturnType<typeof startServer>>;
let directory: string;
/** Compiles the TypeScript client while the first test waits for the limit. */
let compiled: Promise<void>;

beforeAll(async () => {
  server = await startServer('--var', 'KEY_LIMIT:10/2s');
  directory = await mkdtemp(join(CLIENTS, '.client-'));
  compiled = compileClient();
  compiled.catch(() => undefined);
});
afterAll(async () => {
  await compiled.catch(() => undefined);
  await rm(directory, { recursive: true });
  await server.close();
});

function postEntry(idempotencyKey: string, number: number): Promise<Response> {
  return fetch(`${server.url}/api/v1/tickets/1001/time-entries`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${server.key}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': idempotencyKey,
    },
    body: JSON.stringify({ minutes: 1 + (number % 60), description: `Event ${number}`, billable: true }),
  });
}

test('the curl example, copied from its page, waits for the limit and writes once', async () => {
  const recipe = RECIPES.find(({ slug }) => slug === 'curl');
  // Uses up the limit.
  await Promise.all(Array.from({ length: 10 }, async (_, n) => (await postEntry(`burst:${n}`, n)).text()));
  const cwd = await mkdtemp(join(tmpdir(), 'twb-curl-'));
  const { stdout } = await run('sh', ['-c', recipe?.example.text(server.url) ?? ''], {
    cwd,
    env: { ...process.env, TICKETS_API_KEY: server.key },
  });
  expect(answer.parse(JSON.parse(stdout)).idempotentReplay).toBeUndefined();
  await rm(cwd, { recursive: true });
  expect((await postEntry('triage:evt-20418', 1)).headers.get('Idempotency-Replayed')).toBe('true');
});

test('the TypeScript client compiles strictly with types made from the document, and writes 30 entries at once', async () => {
  await compiled;
  const env = { ...process.env, TICKETS_URL: `${server.url}/api/v1`, TICKETS_API_KEY: server.key };
  const { stdout } = await run('node', [join(directory, 'main.ts')], { env });
  const { ids, replays, credited, again, mismatch } = z
    .object({
      ids: z.array(z.string()),
      replays: z.number(),
      credited: z.string(),
      again: z.string(),
      mismatch: z.string(),
    })
    .parse(JSON.parse(stdout));
  expect(new Set(ids).size).toBe(30);
  expect(replays).toBe(0);
  expect(credited).toBe('automation');
  // The same entry, now for a technician, is the one that was written for the service account.
  expect(again).toBe(ids[0]);
  // Another entry with the same Idempotency-Key was not written, and the caller learns it.
  expect(mismatch).toContain('Idempotency-Key');
});

/**
 * Makes types from the document and compiles the client with them. @throws if it does not compile
 */
async function compileClient(): Promise<void> {
  const bin = join(CLIENTS, 'node_modules/.bin');
  await run('openapi-typescript', [`${server.url}/api/v1/openapi.json`, '-o', join(directory, 'api.d.ts')], {
    env: { ...process.env, PATH: `${bin}:${process.env['PATH']}` },
  });
  await copyFile('src/assets/docs/recipes/client.ts', join(directory, 'client.ts'));
  await writeFile(join(directory, 'main.ts'), MAIN);
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(STRICT));
  await run(join(bin, 'tsc'), ['-p', directory]);
}

const STRICT = {
  compilerOptions: {
    target: 'ES2022',
    lib: ['ES2022', 'DOM'],
    module: 'nodenext',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
    noEmit: true,
    types: ['node'],
  },
};

/**
 * Writes 30 entries at once with a limit of 10 in 2 seconds, one for a technician who cannot be
 * credited, and then uses the Idempotency-Key of the first one twice more.
 */
const MAIN = `import { logTime, ticketClient } from './client.ts';

const client = ticketClient(process.env['TICKETS_URL'] ?? '', process.env['TICKETS_API_KEY'] ?? '');
const entry = { minutes: 5, description: 'Cleared the print queue', billable: true };
const written = await Promise.all(Array.from({ length: 30 }, (_, n) => logTime(client, '1001', \`client:evt-\${n}\`, entry)));
const resent = await logTime(client, '1001', 'client:evt-ivan', { ...entry, userEmail: 'ivan@northwind.example' });
const again = await logTime(client, '1001', 'client:evt-0', { ...entry, userEmail: 'tess@northwind.example' });
const mismatch = await logTime(client, '1001', 'client:evt-0', { ...entry, minutes: 6 }).catch((err: Error) => err.message);
console.log(
  JSON.stringify({
    ids: written.map(({ entry }) => entry.id),
    replays: written.filter((answer) => 'idempotentReplay' in answer).length,
    credited: resent.entry.userId,
    again: again.entry.id,
    mismatch,
  }),
);
`;
