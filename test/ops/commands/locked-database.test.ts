import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { importDirectory } from '../../../src/ops/import/import-directory.ts';
import { withLocalD1 } from '../../../src/ops/local.ts';
import { operatorContext } from '../../../src/ops/open-database.ts';
import { RemoteD1 } from '../../../src/ops/remote-d1.ts';
import { callD1, LOCKED, runD1 } from '../../../src/services/call-d1.ts';
import type { D1Caller } from '../../../src/services/service-context.ts';
import { type LocalDatabase, spawnCli } from '../../support/command.ts';
import { copyDatabase } from '../../support/shared.ts';

let local: LocalDatabase;
beforeAll(async () => {
  local = await copyDatabase();
});
afterAll(() => local.remove());

/** Begins a write in a database, and ends with its standard input. */
const HOLD = `
  new (require('node:sqlite').DatabaseSync)(process.argv[1]).exec('begin immediate');
  process.stdout.write('held');
  process.stdin.resume();`;

/** Has another process write to the local database. Returns how to end it. */
async function hold(): Promise<() => Promise<void>> {
  const directory = join(local.persistTo, 'v3/d1/miniflare-D1DatabaseObject');
  const file = (await readdir(directory)).find((name) => /^[0-9a-f]+\.sqlite$/.test(name)) ?? '';
  const holder = spawn('node', ['-e', HOLD, join(directory, file)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(holder, 'close');
  const end = async () => {
    holder.stdin.end();
    await closed;
  };
  onTestFinished(end);
  expect(String(await once(holder.stdout, 'data'))).toBe('held');
  return end;
}

test('a command whose database another process holds prints one sentence', async () => {
  await hold();
  expect(await spawnCli('size', ['--persist-to', local.persistTo])).toEqual({
    code: 1,
    stdout: '',
    stderr: 'Another program is writing to this local database. Run the command again.\n',
  });
});

test.each([
  ['reads', 'select 1'],
  ['writes', 'create table held_before (id integer)'],
])('a call that %s is made three times, until the other process has ended', async (_, sql) => {
  const end = await hold();
  await withLocalD1(local.persistTo, async (db) => {
    const calls = { made: 0, ended: Infinity };
    const call = () =>
      callD1(operatorContext(db), 'nothing_written', async () => {
        calls.made += 1;
        if (calls.made === calls.ended) await end();
        return db.prepare(sql).all();
      });
    await expect(call()).rejects.toMatchObject({ cause: { reason: LOCKED } });
    expect(calls.made).toBe(3);
    calls.ended = 6;
    expect(await call()).toMatchObject({ success: true });
    expect(calls.made).toBe(6);
  });
});

test('an import waits for the other process too', async () => {
  await hold();
  await withLocalD1(local.persistTo, async (db) => {
    const line = JSON.stringify({ type: 'company', organization: 'northwind', id: 'held', name: 'Held' });
    await expect(importDirectory(db, line)).rejects.toMatchObject({ cause: { reason: LOCKED } });
  });
});

const BUSY = 'D1_ERROR: database is locked: SQLITE_BUSY';
const INTERNAL = 'D1_ERROR: internal error; reference = 0123456789abcdef';
const ofRequest: Pick<D1Caller, 'waitsForLock'> = {};
const ofRemote = operatorContext(new RemoteD1(() => Promise.reject(new Error('not called')), 'id'));

test.each([
  ['a request makes one call to a locked database', ofRequest, BUSY, 'not_run'],
  ['a request makes one call after an internal error', ofRequest, INTERNAL, 'unknown'],
  ['a command does not take an internal error of the deployed database for a lock', ofRemote, INTERNAL, 'unknown'],
])('%s', async (_, { waitsForLock }, message, kind) => {
  let made = 0;
  const failed = runD1({ deadlineAt: Date.now() + 10_000, waitsForLock }, () => {
    made += 1;
    return Promise.reject(new Error(message));
  });
  await expect(failed).rejects.toMatchObject({ kind, reason: expect.not.stringContaining(LOCKED) });
  expect(made).toBe(1);
});
