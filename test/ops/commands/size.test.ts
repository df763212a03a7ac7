import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addDays, DAY_MS, dateIn } from '../../../src/domain/calendar.ts';
import { withLocalD1 } from '../../../src/ops/local.ts';
import { runCli } from '../../support/run-cli.ts';
import { demoDatabase, makeKey, remoteDatabase, writeNotes } from './database.ts';

/** The table in the output: the cells of each row, by the first one. */
function rowsIn(stdout: string): Record<string, string[]> {
  const [table = ''] = stdout.split('\n\n');
  const rows = table.split('\n').map((line) => line.split(/ {2,}/));
  return Object.fromEntries(rows.map(([name = '', ...cells]) => [name, cells]));
}

/** The sentences after the table. */
const sentencesIn = (stdout: string) => stdout.trimEnd().split('\n\n')[1]?.split('\n') ?? [];

/** The number that a sentence has at this place. */
const numberIn = (stdout: string, place: RegExp) => Number(place.exec(stdout)?.[1]);

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
          .prepare('insert into key_days values (?1, ?2, ?3, ?2, 1, 1, 5, ?4, 1, 1, 1, null)')
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

  test('lists the organizations by their bytes, with growth and records, and the sum', async () => {
    await setLedger(
      ['northwind', 40, 1_000],
      ['fabrikam', 29, 1_500_000],
      ['fabrikam', 0, 1_500_000],
      ['fabrikam', 30, 999],
    );
    const { code, stdout, stderr } = await size();
    expect([code, stderr]).toEqual([0, '']);
    const rows = rowsIn(stdout);
    expect(Object.keys(rows).slice(0, 3)).toEqual(['organization', 'fabrikam', 'northwind']);
    expect(Object.keys(rows).at(-1)).toBe('all organizations');
    // Without the row of 30 days ago, over the 29 days before today and the part of today.
    const [, , perDay = ''] = rows['fabrikam'] ?? [];
    expect(perDay).toMatch(/^10\d kB$/);
    expect(rows).toMatchObject({
      fabrikam: ['3 MB', '100.0%', perDay, '6'],
      northwind: ['1 kB', '0.0%', '0 B', '2'],
      'all organizations': ['3 MB', '100.0%', perDay, '8'],
    });
    // The columns are aligned.
    const [table = ''] = stdout.split('\n\n');
    expect(new Set(table.split('\n').map(({ length }) => length)).size).toBe(1);
  });

  test('prints the date on which the database will be full, with the growth scaled from text to database size', async () => {
    const bytes = 30_000;
    await setLedger(
      ...Array.from({ length: 30 }, (_, ago): ['northwind', number, number] => ['northwind', ago, bytes]),
    );
    const { stdout } = await size('--limit', '20MB');
    const [, used = '', factor = '', full = ''] = sentencesIn(stdout);
    expect(used).toMatch(/^The database holds \d+ kB of 20 MB: \d\.\d%\.$/);
    const kilobytes = numberIn(used, /holds (\d+) kB/);
    expect(factor).toMatch(
      /^The database is ([\d.]+) times as large as this text, so it is assumed to grow \1 times as fast as the text\. The ledger goes back 400 days: in an older database the date is too early\.$/,
    );
    expect(numberIn(factor, /is ([\d.]+) times/)).toBeCloseTo((kilobytes * 1_000) / (30 * bytes), 1);
    const days =
      (Date.parse(full.replace(/^At this growth the database will be full on (.*)\.$/, '$1')) - Date.parse(today)) /
      DAY_MS;
    // The database grows by about a thirtieth of itself a day: the whole of it is of the last 30.
    const expected = ((20_000 - kilobytes) / kilobytes) * 30;
    expect(days / expected).toBeGreaterThan(0.96);
    expect(days / expected).toBeLessThan(1.01);
  });

  test.each<[string, ['northwind', number, number][], string[], string]>([
    ['nothing was written', [], [], 'When it will be full cannot be said yet: the ledger covers less than 7 days.'],
    [
      'the ledger is too short',
      [['northwind', 5, 1]],
      [],
      'When it will be full cannot be said yet: the ledger covers less than 7 days.',
    ],
    [
      'nothing was written in the last 30 days',
      [['northwind', 30, 1]],
      [],
      'Nothing was written in the last 30 days, so there is no date on which it will be full.',
    ],
    [
      'it grows too slowly',
      [
        ['northwind', 30, 1_000_000_000],
        ['northwind', 7, 1],
      ],
      [],
      'At this growth the database will not be full within 100 years.',
    ],
  ])('prints no date if %s', async (_, rows, args, sentence) => {
    await setLedger(...rows);
    expect(sentencesIn((await size(...args)).stdout).at(-1)).toBe(sentence);
  });

  test('has a default limit, and refuses an invalid limit', async () => {
    expect((await size()).stdout).toContain(' of 10 GB: ');
    const { code, stdout, stderr } = await size('--limit', '10GiB');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^--limit: "10GiB" is not the size limit .*\n\nUsage: npm run ops -- size /);
  });
});

test('counts what keys have written, on the local database', async () => {
  const { persistTo, options, remove } = await demoDatabase();
  try {
    await withLocalD1(persistTo, (db) => writeNotes(db, ['four', 'Größe']));
    const { code, stdout } = await runCli('size', options);
    expect([code, rowsIn(stdout)['fabrikam']]).toEqual([0, ['11 B', '100.0%', '11 B', '2']]);
  } finally {
    await remove();
  }
});
