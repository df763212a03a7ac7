import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { RECIPES } from '../../src/http/docs/recipes.ts';
import { startServer } from '../support/server.ts';

const run = promisify(execFile);
const CLIENTS = join(import.meta.dirname, '../clients');
const answer = z.object({ entry: z.object({ id: z.string() }), idempotentReplay: z.boolean().optional() });

const bodyOf = (n: number) => ({ minutes: 1 + (n % 60), description: `Event ${n}`, billable: true });

function postEntry(
  { url, key }: { url: string; key: string },
  idempotencyKey: string,
  body: unknown,
): Promise<Response> {
  return fetch(`${url}/api/v1/tickets/1001/time-entries`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey },
    body: JSON.stringify(body),
  });
}

describe('bursts over the limit of the key', () => {
  let server: Awaited<ReturnType<typeof startServer>>;
  beforeAll(async () => {
    server = await startServer('--var', 'KEY_LIMIT:10/2s');
  });
  afterAll(() => server.close());

  const useUp = () =>
    Promise.all(Array.from({ length: 10 }, async (_, n) => (await postEntry(server, `burst:${n}`, bodyOf(n))).text()));

  test('the curl example, copied from its page, waits and arrives', async () => {
    const recipe = RECIPES.find(({ slug }) => slug === 'curl');
    await useUp();
    const directory = await mkdtemp(join(tmpdir(), 'curl-'));
    const { stdout } = await run('sh', ['-c', recipe?.example.text(server.url) ?? ''], {
      cwd: directory,
      env: { ...process.env, TICKETS_API_KEY: server.key },
    });
    expect(answer.parse(JSON.parse(stdout)).idempotentReplay).toBeUndefined();
    await rm(directory, { recursive: true });
    expect((await postEntry(server, 'triage:evt-20418', bodyOf(1))).headers.get('Idempotency-Replayed')).toBe('true');
  });

  test('the TypeScript client compiles strictly on types made from the document, and loses nothing', async () => {
    const directory = await mkdtemp(join(CLIENTS, '.client-'));
    try {
      await run('openapi-typescript', [`${server.url}/api/v1/openapi.json`, '-o', join(directory, 'api.d.ts')], {
        env: { ...process.env, PATH: `${join(CLIENTS, 'node_modules/.bin')}:${process.env['PATH']}` },
      });
      await copyFile('src/assets/docs/recipes/client.ts', join(directory, 'client.ts'));
      await writeFile(join(directory, 'main.ts'), MAIN);
      await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(STRICT));
      await run(join(CLIENTS, 'node_modules/.bin/tsc'), ['-p', directory]);

      const env = { ...process.env, TICKETS_URL: `${server.url}/api/v1`, TICKETS_API_KEY: server.key };
      const { stdout } = await run('node', [join(directory, 'main.ts')], { env });
      const { ids, replays, credited } = z
        .object({ ids: z.array(z.string()), replays: z.number(), credited: z.string() })
        .parse(JSON.parse(stdout));
      expect(new Set(ids).size).toBe(30);
      expect(replays).toBe(0);
      expect(credited).toBe('automation');
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

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
 * 30 entries at once through a limit of 10 in 2 seconds, and one for a technician who cannot be
 * credited.
 */
const MAIN = `import { logTime, ticketClient } from './client.ts';

const client = ticketClient(process.env['TICKETS_URL'] ?? '', process.env['TICKETS_API_KEY'] ?? '');
const entry = { minutes: 5, description: 'Cleared the print queue', billable: true };
const written = await Promise.all(Array.from({ length: 30 }, (_, n) => logTime(client, '1001', \`client:evt-\${n}\`, entry)));
const resent = await logTime(client, '1001', 'client:evt-ivan', { ...entry, userEmail: 'ivan@northwind.example' });
console.log(
  JSON.stringify({
    ids: written.map(({ entry }) => entry.id),
    replays: written.filter((answer) => 'idempotentReplay' in answer).length,
    credited: resent.entry.userId,
  }),
);
`;
