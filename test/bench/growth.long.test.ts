import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bytesPerWrite, type GrowthRun, lifetimeTable, monthsUntilFull } from './growth-report.ts';
import { runGrowth } from './growth-run.ts';

const PLAN = {
  months: 3,
  organizations: 2,
  writesPerMonth: 20,
  scale: 2,
  noteCharacters: 800,
  entryCharacters: 150,
};

test('a simulation finds every write once, and answers the replays of archived ones', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'twb-growth-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const run = await runGrowth(directory, PLAN, 30, () => undefined);
  expect(run.months.map(({ month, writes }) => [month, writes])).toEqual([
    [1, 20],
    [2, 40],
    [3, 60],
  ]);
  // After 30 days, all but the month before.
  expect(run).toMatchObject({ inFeed: 60, archivedWrites: 40, objects: 4 });
  expect(run.replays).toEqual({ sent: 3, right: 3, ofArchived: 2 });
});

/** A run of three years whose database grows by so many bytes in the last year, with 1,000 writes a month. */
function runOf(bytesOfLastYear: number): GrowthRun {
  const months = Array.from({ length: 36 }, (_, index) => ({
    month: index + 1,
    writes: (index + 1) * 1_000,
    rowsWritten: 0,
    databaseBytes: index < 23 ? 0 : ((index - 23) * bytesOfLastYear) / 12,
  }));
  const replays = { sent: 0, right: 0, ofArchived: 0 };
  const found = { inFeed: 0, archivedWrites: 0, archiveRowsWritten: 0, archiveBytes: 0, objects: 0, replays };
  return { ...found, keepDays: null, emptyBytes: 0, months, seconds: 0 };
}

test('the months until the database is full include archived records and the rows that remain of them', () => {
  const perWrite = bytesPerWrite(runOf(12_000_000), runOf(1_200_000));
  expect(perWrite).toEqual({ kept: 1_000, archived: 100 });
  expect(monthsUntilFull(perWrite, 1_000_000, null)).toBe(10);
  // 3 GB are kept, and 7 GB have room for 70 months of what stays.
  expect(monthsUntilFull(perWrite, 1_000_000, 90)).toBe(73);
  expect(monthsUntilFull(perWrite, 10_000_000, 90)).toBe(1);
  expect(lifetimeTable(perWrite)).toContain('| 1,000,000 | 10.0 months | 10.0 months | 6.1 years | 7.6 years |');
});

test('the published table contains the numbers of the last run', async () => {
  const [readme, results] = await Promise.all([
    readFile('src/ops/run.md', 'utf8'),
    readFile('test/bench/GROWTH.md', 'utf8'),
  ]);
  const rows = results.split('\n').filter((line) => /^\| [\d,]+ \|.*(?:months|years)/.test(line));
  expect(rows).toHaveLength(4);
  for (const row of rows) expect(readme).toContain(row);
});
