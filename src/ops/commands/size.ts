import { dateIn } from '../../domain/calendar.ts';
import { parseDatabaseLimit } from '../../domain/database-limit.ts';
import { databaseSize, listStoredText } from '../../services/database-size.ts';
import { LEDGER_RETENTION_DAYS } from '../../services/forget.ts';
import { listReleases, type ReleaseRow } from '../../services/work/release-changes.ts';
import { databaseCommand, parseOption } from '../command.ts';
import { coveredDays, type FullDate, fullDate, GROWTH_DAYS, growthSince, MIN_GROWTH_DAYS } from '../database-growth.ts';
import { formatBytes, percent, print, table } from '../output.ts';
import { printable } from '../printable.ts';

export const size = databaseCommand(
  {
    name: 'size',
    summary: 'list organizations by size, and when the database is full',
    purpose:
      'Lists the organizations by the bytes of text that they wrote, with their growth per day and their number of records. Then prints the size of the database, and the date on which it will be full, and up to where the changes of each organization are released and archived. Nothing is written.',
    example: 'size --remote',
    failure: 'failure: the database failed',
  },
  (command) =>
    command.option(
      '--limit <SIZE>',
      'The size at which the database is full, such as 500MB. Default: DATABASE_LIMIT of the deployment.',
    ),
  async (withDatabase, options) => {
    const limitText = options.limit ?? (await withDatabase.variables())['DATABASE_LIMIT'];
    const limit = parseOption('--limit', () => parseDatabaseLimit(limitText));
    const now = Date.now();
    const { organizations, database, releases } = await withDatabase(async ({ context }) => {
      const ctx = context();
      return {
        organizations: await listStoredText(ctx, growthSince(now)),
        database: await databaseSize(ctx, limit),
        releases: await listReleases(ctx),
      };
    });
    const total = (field: 'records' | 'bytes' | 'bytesSince') =>
      organizations.reduce((sum, organization) => sum + organization[field], 0);
    const text = total('bytes');
    const [firstDay] = organizations.flatMap((organization) => organization.firstDay ?? []).sort();
    const days = firstDay === undefined ? 0 : coveredDays(firstDay, now);

    const row = (name: string, bytes: number, recent: number, records: number) => [
      name,
      formatBytes(bytes),
      percent(text === 0 ? 0 : bytes / text),
      formatBytes(days === 0 ? 0 : recent / days),
      records.toLocaleString('en'),
    ];
    const rows = organizations.map(({ organizationId, bytes, bytesSince, records }) =>
      row(printable(organizationId), bytes, bytesSince, records),
    );
    const sum = row('all organizations', text, total('bytesSince'), total('records'));
    const full = fullDate({ size: database.bytes, limit, text, recent: total('bytesSince'), days }, now);
    const sentences = [
      `Text and records are those of the last ${LEDGER_RETENTION_DAYS} days, as the daily ledger counts them. The growth is that of the last ${GROWTH_DAYS} days.`,
      `The database holds ${formatBytes(database.bytes)} of ${formatBytes(limit)}: ${percent(database.share)}.`,
      ...(text === 0 ? [] : [factorSentence(database.bytes / text)]),
      fullSentence(full),
    ];
    const parts = [table([HEADINGS, ...rows, sum]), sentences.join('\n'), releaseTable(releases)];
    await print(`${parts.join('\n\n')}\n`);
  },
);

function releaseTable(releases: readonly ReleaseRow[]): string {
  const rows = releases.map(({ organizationId, newestSeq, releasedSeq, archivedSeq, unreleasedSince }) => [
    printable(organizationId),
    String(archivedSeq),
    String(releasedSeq),
    String(newestSeq - releasedSeq),
    unreleasedSince === null ? '-' : dateIn('UTC', unreleasedSince),
  ]);
  return table([['changes of', 'archived to', 'released to', 'unreleased', 'oldest unreleased'], ...rows]);
}

const HEADINGS = ['organization', 'text', 'share', 'growth per day', 'records'];

/** Beyond this, a database contains hardly any text, and its growth predicts nothing. */
const MAX_FACTOR = 100;

function factorSentence(factor: number): string {
  const times = Number(factor.toPrecision(2)).toLocaleString('en');
  if (factor > MAX_FACTOR)
    return `Not enough text yet for a forecast: the database is ${times} times as large as its texts.`;
  return `The database is ${times} times as large as this text, so it is assumed to grow ${times} times as fast as the text. The ledger goes back ${LEDGER_RETENTION_DAYS} days: in an older database the date is too early.`;
}

function fullSentence(full: FullDate): string {
  switch (full.status) {
    case 'on':
      return `At this growth the database will be full on ${full.date}.`;
    case 'full':
      return 'The database is full.';
    case 'too_early':
      return `When it will be full cannot be said yet: the ledger covers less than ${MIN_GROWTH_DAYS} days.`;
    case 'not_growing':
      return `Nothing was written in the last ${GROWTH_DAYS} days, so there is no date on which it will be full.`;
    case 'not_for_a_century':
      return 'At this growth the database will not be full within 100 years.';
  }
}
