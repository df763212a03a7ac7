import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hashKey } from '../../../src/domain/api-key.ts';
import { withLocalD1 } from '../../../src/ops/local.ts';
import { operatorContext } from '../../../src/ops/open-database.ts';
import type { CreatedKey } from '../../../src/services/keys/create-key.ts';
import { findKey } from '../../../src/services/keys/find-key.ts';
import { demoDatabase, makeKey } from './database.ts';

let local: Awaited<ReturnType<typeof demoDatabase>>;
let key: CreatedKey;
beforeAll(async () => {
  local = await demoDatabase();
  key = await withLocalD1(local.persistTo, (db) => makeKey(db, 'Piped'));
});
afterAll(() => local.remove());

/**
 * Runs a command whose reader ends before the first line. Returns the command's own exit code and
 * standard error.
 */
async function piped(args: string, input = '') {
  const line = `printf %s "$INPUT" | node src/ops/ops.ts ${args} | true; echo "\${PIPESTATUS[1]}"`;
  const env = { ...process.env, INPUT: input, HERE: local.persistTo };
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', line], { env });
  return { code: Number(stdout), stderr };
}

const company = (id: string) => `{"type":"company","organization":"northwind","id":"${id}","name":"Piped"}`;
const MANY = Array.from({ length: 1000 }, (_, index) => company(`piped-${index}`)).join('\n');

test.each([
  ['--help', ''],
  ['changes:export northwind --persist-to "$HERE"', ''],
  ['directory:import - --dry-run --persist-to "$HERE"', MANY],
])('%s ends quietly when its standard output is closed', async (args, input) => {
  expect(await piped(args, input)).toEqual({ code: 0, stderr: '' });
});

test('a command that writes is not stopped when its standard output is closed', async () => {
  const quiet = { code: 0, stderr: '' };
  expect(await piped('directory:import - --persist-to "$HERE"', company('piped'))).toEqual(quiet);
  expect(await piped('key:revoke --by Ada --persist-to "$HERE"', key.value)).toEqual(quiet);
  await withLocalD1(local.persistTo, async (db) => {
    const { results } = await db.prepare("select id from companies where name = 'Piped'").all();
    expect(results).toEqual([{ id: 'piped' }]);
    const found = await findKey(operatorContext(db), await hashKey(key.value));
    expect(found).toMatchObject({ revokedAt: expect.any(Number) });
  });
});
