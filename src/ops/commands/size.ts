import { Command } from '@commander-js/extra-typings';
import { latestSize } from '../../db/statement.ts';
import { findStoredText, type StoredTextRow } from '../../db/work/key-days.ts';
import { addDays, dateIn } from '../../domain/calendar.ts';
import { parseDatabaseLimit } from '../../domain/database-limit.ts';
import { readAll } from '../../services/call-d1.ts';
import { LEDGER_RETENTION_DAYS } from '../../services/forget.ts';
import { listReleases, type ReleaseRow } from '../../services/work/release-changes.ts';
import { databaseCommand } from '../command.ts';
import { formatBytes, percent, print, table } from '../output.ts';
import { printable } from '../printable.ts';

/** Which days are recent, today included. */
const RECENT_DAYS = 30;
const HEADINGS = ['organization', 'text', 'share', `last ${RECENT_DAYS} days`, 'records'];

export const size = databaseCommand(
  new Command('size')
    .summary('list organizations by size, and the size of the database')
    .description(
      `Lists the organizations by the bytes of text that they wrote, with those of the last ${RECENT_DAYS} days, and their number of records. Then prints the size of the database, and up to where the changes of each organization are released and archived. Nothing is written.`,
    ),
  async (withDatabase) => {
    const limit = parseDatabaseLimit((await withDatabase.variables())['DATABASE_LIMIT']);
    const since = addDays(dateIn('UTC', Date.now()), 1 - RECENT_DAYS);
    const { organizations, releases, bytes } = await withDatabase(async ({ context }) => {
      const ctx = context();
      return {
        organizations: await readAll(ctx, findStoredText.bind({ since })),
        releases: await listReleases(ctx),
        bytes: latestSize(ctx.db) ?? 0,
      };
    });
    const total = (field: 'records' | 'bytes' | 'bytesSince') =>
      organizations.reduce((sum, organization) => sum + organization[field], 0);
    const text = total('bytes');
    const row = ({ organizationId, bytes, bytesSince, records }: StoredTextRow) => [
      printable(organizationId),
      formatBytes(bytes),
      percent(text === 0 ? 0 : bytes / text),
      formatBytes(bytesSince),
      records.toLocaleString('en'),
    ];
    const all = {
      organizationId: 'all organizations',
      bytes: text,
      bytesSince: total('bytesSince'),
      records: total('records'),
    };
    const sentences = [
      `Text and records are those of at least the last ${LEDGER_RETENTION_DAYS} days, as the daily ledger counts them.`,
      `The database holds ${formatBytes(bytes)} of ${formatBytes(limit)}: ${percent(bytes / limit)}.`,
    ];
    const parts = [
      table([HEADINGS, ...[...organizations, all].map(row)]),
      sentences.join('\n'),
      releaseTable(releases),
    ];
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
