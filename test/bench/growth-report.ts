import * as z from 'zod';
import { GROWTH_MONTH_DAYS, type GrowthPlan, type MonthEnd } from './growth.ts';
import { integer, table } from './tables.ts';

/** What is found at the end of a simulation. */
export const growthCheck = z.object({
  /** Acknowledged writes that the changes have once, from the beginning. */
  inFeed: z.int(),
  archivedWrites: z.int(),
  /** D1 rows that the archive steps wrote. */
  archiveRowsWritten: z.int(),
  archiveBytes: z.int(),
  objects: z.int(),
  /** Repeated requests, and how many of them got the response that the contract promises. */
  replays: z.object({ sent: z.int(), right: z.int(), ofArchived: z.int() }),
});

/** One simulation: nothing is archived, or all that is older than `keepDays`. */
export interface GrowthRun extends z.output<typeof growthCheck> {
  keepDays: number | null;
  /** The size of the database before the first write. */
  emptyBytes: number;
  months: readonly MonthEnd[];
  seconds: number;
}

const GB = 1e9;
const MAX_GB = 10;

/** What one write adds to the database: while it is in it, and what stays of it in the long run. */
export interface BytesPerWrite {
  kept: number;
  archived: number;
}

/**
 * The growth of the database for each write. Without an archive, everything is kept. With one, the
 * last year says what stays: as many writes leave the database in it as enter.
 */
export function bytesPerWrite(without: GrowthRun, withArchive: GrowthRun): BytesPerWrite {
  return { kept: lastYear(without), archived: lastYear(withArchive) };
}

function lastYear({ months, emptyBytes }: GrowthRun): number {
  const end = months.at(-1);
  if (!end) throw new Error('no month was simulated');
  const begin = months.at(-13) ?? { writes: 0, databaseBytes: emptyBytes };
  return (end.databaseBytes - begin.databaseBytes) / (end.writes - begin.writes);
}

/** Months until the database has 10 GB; infinite if it never has. */
export function monthsUntilFull(perWrite: BytesPerWrite, writesPerMonth: number, keepDays: number | null): number {
  const [full, kept] = [MAX_GB * GB, perWrite.kept * writesPerMonth];
  if (keepDays === null) return full / kept;
  const window = keepDays / GROWTH_MONTH_DAYS;
  if (kept * window >= full) return full / kept;
  return window + (full - kept * window) / (perWrite.archived * writesPerMonth);
}

const LOADS = [50_000, 200_000, 1_000_000, 4_000_000];
const KEPT = [null, 365, 90, 30];

/** A time in words; what is more than 20 years away says nothing. */
function duration(months: number): string {
  if (months >= 240) return 'over 20 years';
  return months < 24 ? `${months.toFixed(1)} months` : `${(months / 12).toFixed(1)} years`;
}

/** The table of the operator's README: how long one database lasts. */
export function lifetimeTable(perWrite: BytesPerWrite): string {
  return table(
    [
      'writes in a month, all organizations',
      ...KEPT.map((days) => (days === null ? 'nothing archived' : `${days} days kept`)),
    ],
    LOADS.map((writes) => [
      integer(writes),
      ...KEPT.map((keepDays) => duration(monthsUntilFull(perWrite, writes, keepDays))),
    ]),
  );
}

/** The whole of GROWTH.md. */
export function renderGrowth(
  plan: GrowthPlan,
  [without, withArchive]: readonly [GrowthRun, GrowthRun],
  date: string,
): string {
  const perWrite = bytesPerWrite(without, withArchive);
  const gigabytes = ({ emptyBytes }: GrowthRun, { databaseBytes }: MonthEnd) =>
    (((databaseBytes - emptyBytes) * plan.scale) / GB).toFixed(2);
  const parts = [
    '# How the database grows',
    'Written by `npm run bench:growth`: do not edit. [README.md](README.md#growth) describes the simulation.',
    [
      `- Run of ${date}, ${without.seconds} s and ${withArchive.seconds} s`,
      `- ${plan.organizations} organizations with ${integer(plan.writesPerMonth)} writes in a month of ${GROWTH_MONTH_DAYS} days each, for ${plan.months} months`,
      `- Half of the writes are notes of ${plan.noteCharacters} characters, half are time entries of ${plan.entryCharacters}, all of which are approved. The writes of a month come on one day`,
      `- One of ${integer(plan.scale)} writes is made; sizes of databases are those of the real load, computed from the growth`,
    ].join('\n'),
    '## Size of the database',
    table(
      ['month', 'nothing archived', `${withArchive.keepDays} days kept`],
      without.months
        .map((end, index) => ({ end, other: withArchive.months[index] }))
        .filter(({ end }) => end.month === 1 || end.month % 3 === 0)
        .map(({ end, other }) => [
          String(end.month),
          `${gigabytes(without, end)} GB`,
          other ? `${gigabytes(withArchive, other)} GB` : '',
        ]),
    ),
    '## One write',
    table(
      ['', 'nothing archived', `${withArchive.keepDays} days kept`],
      [
        ['bytes in the database, in the last year', perWrite.kept.toFixed(0), perWrite.archived.toFixed(0)],
        ['bytes in the archive', '', (withArchive.archiveBytes / withArchive.archivedWrites).toFixed(0)],
        ['rows written by the write and its review', ...[without, withArchive].map(rowsPerWrite)],
        ['rows written to archive it', '', (withArchive.archiveRowsWritten / withArchive.archivedWrites).toFixed(2)],
      ],
    ),
    '## How long one database lasts',
    'Until it has 10 GB, if every write is like these:',
    lifetimeTable(perWrite),
    '## Checks at the end',
    table(
      ['', 'nothing archived', `${withArchive.keepDays} days kept`],
      [
        ['acknowledged writes', ...[without, withArchive].map(({ months }) => integer(months.at(-1)?.writes ?? 0))],
        ['of them exactly once in the changes', ...[without, withArchive].map(({ inFeed }) => integer(inFeed))],
        ['of them in the archive', ...[without, withArchive].map(({ archivedWrites }) => integer(archivedWrites))],
        ['objects in the archive', ...[without, withArchive].map(({ objects }) => integer(objects))],
        ['requests repeated', ...[without, withArchive].map(({ replays }) => integer(replays.sent))],
        ['of them about archived writes', ...[without, withArchive].map(({ replays }) => integer(replays.ofArchived))],
        ['answered as promised', ...[without, withArchive].map(({ replays }) => integer(replays.right))],
      ],
    ),
  ];
  return `${parts.join('\n\n')}\n`;
}

const rowsPerWrite = ({ months }: GrowthRun) => {
  const end = months.at(-1);
  return end ? (end.rowsWritten / end.writes).toFixed(2) : '';
};
