import { hashKey } from '../../../src/domain/api-key.ts';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import type { ObjectStore } from '../../../src/lib/object-store.ts';
import { archiveStep } from '../../../src/modules/archive/archive-step.ts';
import { operatorContext } from '../../../src/ops/open-database.ts';
import { createApiKey } from '../../../src/services/keys/create-key.ts';
import { findKey } from '../../../src/services/keys/find-key.ts';
import { createNote, createTimeEntry } from '../../../src/services/work/create-record.ts';
import { listChanges } from '../../../src/services/work/list-changes.ts';
import { releaseChanges } from '../../../src/services/work/release-changes.ts';
import { runCli } from '../../support/run-cli.ts';
import { setUpContext } from './database.ts';

// Records that are old enough for the archive.

export const organization = 'fabrikam';

/** Runs commands on a database. */
export const commandsOf =
  ({ env }: { env: Record<string, string> }) =>
  (command: string, ...args: string[]) =>
    runCli(command, [...args, '--remote'], { env });

/** Makes everything in the database older: the trigger that keeps audit rows is put back afterwards. */
export async function age(db: D1Database, days: number): Promise<void> {
  const name = 'audit_log_no_update';
  const trigger = await db.prepare('select sql from sqlite_master where name = ?').bind(name).first<string>('sql');
  await db.batch([
    db.prepare(`drop trigger ${name}`),
    db.prepare('update audit_log set at = at - ?').bind(days * DAY_MS),
    db.prepare(trigger ?? ''),
  ]);
}

/**
 * Two notes, a time entry that is not reviewed, and the newest note, all of 40 days ago and released
 * up to the entry. Returns the ids of the first note and of the entry, and the changes as the feed has them.
 */
export async function oldRecords(db: D1Database): Promise<{ note: string; entry: string; lines: string[] }> {
  const source = { address: null, userAgent: null };
  const admin = { ...setUpContext(db), actor: { organizationId: organization, userId: 'fay' }, source };
  const scopes = ['tickets:note:write', 'tickets:time:write'] as const;
  const { value } = await createApiKey(admin, 'twb', { name: 'n8n', scopes: [...scopes] });
  const actor = await findKey(setUpContext(db), await hashKey(value));
  if (!actor) throw new Error('no such key');
  const ctx = () => ({
    ...setUpContext(db),
    actor,
    source,
    dayLimits: { key: null, organization: null },
    onKey: () => undefined,
    onKeyDay: () => undefined,
  });
  const target = { ticketId: '1001', idempotencyKey: undefined };
  const note = await createNote(ctx(), target, { message: 'the password is hunter2' });
  await createNote(ctx(), target, { message: 'it was hunter3' });
  const work = { minutes: 47, description: 'Replaced the disk', billable: true, userEmail: 'fay@fabrikam.example' };
  const entry = await createTimeEntry(ctx(), target, work);
  await createNote(ctx(), target, { message: 'the newest' });
  await age(db, 40);
  const { changes } = await listChanges(operatorContext(db), { organization, cursor: null, limit: 100 });
  await releaseChanges(operatorContext(db), { organization, cursor: changes[3]?.cursor ?? '' });
  return { note: note.row.id, entry: entry.row.id, lines: changes.map((change) => JSON.stringify(change)) };
}

/** Archives everything that is released. */
export async function archiveAll(db: D1Database, archive: ObjectStore): Promise<string> {
  const step = await archiveStep({ ...operatorContext(db), archive }, organization, {
    before: Date.now(),
    isPushed: false,
  });
  if (step.status !== 'archived') throw new Error(step.status);
  return step.object;
}
