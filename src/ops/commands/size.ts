import { Command } from '@commander-js/extra-typings';
import { findStoredText } from '../../db/work/key-days.ts';
import { addDays, dateIn } from '../../domain/calendar.ts';
import { parseDatabaseLimit } from '../../domain/database-limit.ts';
import { callD1, query } from '../../services/call-d1.ts';
import { databaseCommand } from '../command.ts';
import { formatBytes, percent, print, table } from '../output.ts';
import { printable } from '../printable.ts';

/** Which days are recent, today included. */
const RECENT_DAYS = 30;
const WRITTEN = ['organization', 'text', `last ${RECENT_DAYS} days`, 'records'];

export const size = databaseCommand(
  new Command('size')
    .summary('list organizations by size, and the size of the database')
    .description(
      `Lists the organizations by the bytes of text that they wrote, with those of the last ${RECENT_DAYS} days, and their number of records. Then prints the size of the database. Nothing is written.`,
    ),
  async (withDatabase) => {
    const limit = parseDatabaseLimit((await withDatabase.variables())['DATABASE_LIMIT']);
    const since = addDays(dateIn('UTC', Date.now()), 1 - RECENT_DAYS);
    await withDatabase(async ({ context }) => {
      const ctx = context();
      const organizations = await query(ctx, 'nothing_written', (db) => findStoredText(db, since));
      const { meta } = await callD1(ctx, 'nothing_written', (d1) => d1.prepare('select 1').all());
      const size = meta.size_after;
      const written = organizations.map(({ organizationId, bytes, bytesSince, records }) => [
        printable(organizationId),
        formatBytes(bytes),
        formatBytes(bytesSince),
        String(records),
      ]);
      await print(`${table([WRITTEN, ...written])}

The database holds ${formatBytes(size)} of ${formatBytes(limit)}: ${percent(size / limit)}.
`);
    });
  },
);
