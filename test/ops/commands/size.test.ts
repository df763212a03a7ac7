import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { addDays, dateIn } from '../../../src/domain/calendar.ts';
import { withLocalD1 } from '../../../src/ops/local.ts';
import { runCli } from '../../support/run-cli.ts';
import { demoDatabase, makeKey, remoteDatabase, writeNotes } from './database.ts';

/** The table in the output: the cells of each row, by the first one. */
function rowsIn(stdout: string): Record<string, string[]> {
  const [table = ''] = stdout.split('\n\n');
  const rows = table.split('\n').map((line) => line.split(/ {2,}/));
  return Object.fromEntries(rows.map(([name = '', ...cells]) => [name, cells]));
}

describe('size', () => {
  let remote: Awaited<ReturnType<typeof remoteDatabase>>;
  const today = dateIn('UTC', Date.now());
  const size = (...args: string[]) => runCli('size', [...args, '--remote'], { env: remote.env });

  beforeAll(async () => {
    remote = await remoteDatabase();
  });
  afterAll(() => remote.close());

  /** Replaces the ledger: bytes of northwind and fabrikam by days ago; each row has two records. */
  async function setLedger(...rows: ['northwind' | 'fabrikam', number, number][]): Promise<void> {
    const keys = { northwind: await keyOf('northwind'), fabrikam: await keyOf('fabrikam') };
    await remote.db.batch([
      remote.db.prepare('delete from key_days'),
      ...rows.map(([organization, ago, bytes]) =>
        remote.db
          .prepare('insert into key_days values (?1, ?2, ?3, ?2, 1, 1, 5, ?4, 1, null)')
          .bind(organization, keys[organization], addDays(today, -ago), bytes),
      ),
    ]);
  }
  const made = new Map<string, string>();
  async function keyOf(organizationId: 'northwind' | 'fabrikam'): Promise<string> {
    const userId = organizationId === 'northwind' ? 'ada' : 'fay';
    const id = made.get(organizationId) ?? (await makeKey(remote.db, 'Size', { organizationId, userId })).id;
    made.set(organizationId, id);
    return id;
  }

  test('lists the organizations by their bytes, with those of the last 30 days and records', async () => {
    await setLedger(
      ['northwind', 40, 1_000],
      ['fabrikam', 29, 1_500_000],
      ['fabrikam', 0, 1_500_000],
      ['fabrikam', 30, 1_000_000],
    );
    const { code, stdout, stderr } = await size();
    expect([code, stderr]).toEqual([0, '']);
    const rows = rowsIn(stdout);
    expect(Object.keys(rows).slice(0, 3)).toEqual(['organization', 'fabrikam', 'northwind']);
    expect(rows).toMatchObject({
      fabrikam: ['4 MB', '3 MB', '6'],
      northwind: ['1 kB', '0 B', '2'],
    });
    // The columns are aligned.
    const [table = ''] = stdout.split('\n\n');
    expect(new Set(table.split('\n').map(({ length }) => length)).size).toBe(1);
  });

  test('compares the database with its limit', async () => {
    expect((await size()).stdout).toContain(' of 10 GB: ');
  });
});

test('counts what keys have written, on the local database', async () => {
  const { persistTo, options, remove } = await demoDatabase();
  onTestFinished(remove);
  await withLocalD1(persistTo, (db) => writeNotes(db, ['four', 'Größe']));
  const { code, stdout } = await runCli('size', options);
  expect([code, rowsIn(stdout)['fabrikam']]).toEqual([0, ['11 B', '11 B', '2']]);
});
