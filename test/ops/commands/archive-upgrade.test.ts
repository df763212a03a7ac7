import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { migrate, migrationNames } from '../../../src/dev/migrate.ts';
import { sha256 } from '../../../src/lib/bytes.ts';
import { archiveStep } from '../../../src/modules/archive/archive-step.ts';
import { checkArchives } from '../../../src/modules/archive/check-archive.ts';
import { objectName } from '../../../src/modules/archive/object-names.ts';
import { operatorContext } from '../../../src/ops/command.ts';
import { exportChanges } from '../../../src/ops/export-changes.ts';
import { withLocalD1 } from '../../../src/ops/local.ts';
import { commandPorts } from '../../../src/ops/modules.ts';
import { listChanges } from '../../../src/services/work/list-changes.ts';
import { redactRecord, setApproval } from '../../../src/services/work/record-services.ts';
import { releaseChanges } from '../../../src/services/work/release-changes.ts';

// A database with an archive of the release before 0015_complete_archive.sql: an entry left with its
// review, its record was in every line about it, and a missing digest said that a record was redacted.

const BEFORE = '0015_complete_archive.sql';
const organization = 'fabrikam';
const idOf = (number: number) => `0198c0de-0000-7000-8000-00000000000${number}`;
const [NOTE, ENTRY, REVIEWED, REDACTED] = [idOf(1), idOf(2), idOf(3), idOf(4)];
const bytesOf = (id: string) => `x'${id.replaceAll('-', '')}'`;
const DIGEST = '0'.repeat(64);
const HALF = `x'${'0'.repeat(32)}'`;
const plain = (text: string) => ({ mediaType: 'text/plain', text });

const AUDIT: [action: string, target: string][] = [
  ['api_key.created', 'key'],
  ['note.created', NOTE],
  ['time_entry.created', ENTRY],
  ['time_entry.created', REVIEWED],
  ['time_entry.approved', REVIEWED],
  ['note.created', REDACTED],
  ['note.redacted', REDACTED],
  ['note.created', 'not archived'],
];
const ARCHIVED = 7;

const noteOf = (id: string, text: string) => ({ id, ticketId: '1', createdAt: '2026-01-01', message: plain(text) });
const reviewed = {
  id: REVIEWED,
  ticketId: '1',
  createdAt: '2026-01-01',
  description: plain('hunter4'),
  status: 'APPROVED',
};
/** What the lines of the object have: of the redacted note its text, because an older object came back. */
const RECORDS: Record<number, object> = {
  2: { note: noteOf(NOTE, 'hunter3') },
  4: { timeEntry: reviewed },
  5: { timeEntry: reviewed },
  6: { note: noteOf(REDACTED, 'hunter2') },
  7: { note: noteOf(REDACTED, 'hunter2') },
};

/** Rows of the release before. */
function rows(object: string, digest: string, bytes: number): string[] {
  const audit = AUDIT.map(
    ([action, target], index) =>
      `insert into audit_log (organization_id, seq, at, actor_type, actor_id, actor_name, action, target_id, ticket_id, request_id)
       values ('fabrikam', ${index + 1}, ${index}, 'system', 'psa', 'x', '${action}', '${target}', '1', 'r${index + 1}')`,
  );
  return [
    "insert into organizations values ('fabrikam', 'Fabrikam', 1, 'UTC', 100, 1)",
    "insert into users values ('fabrikam', 'fay', 'fay@fabrikam.example', 'Fay', 1, 0, 0, 1)",
    "insert into companies values ('fabrikam', 'c', 'C', 1)",
    "insert into tickets values ('fabrikam', '1', 'c', 1)",
    `insert into api_keys (organization_id, id, chain_id, name, hash, hint, scopes, created_at, created_by)
     values ('fabrikam', 'key', 'key', 'n8n', '${DIGEST}', 'twb', 'tickets:time:write', 0, 'fay')`,
    ...audit,
    `insert into time_entries values ('fabrikam', '${ENTRY}', '1', 2, 'key', 'r3', '${DIGEST}', 3, 'fay', 47, 'Replaced the disk', 1, '2026-01-01', 100, 'organization_default', 'SUBMITTED', null)`,
    `insert into releases values ('fabrikam', ${ARCHIVED}, 0)`,
    `insert into archives values ('fabrikam', ${ARCHIVED}, 1, 0, 6, 'r7', '${object}', '${digest}', ${bytes}, 0, '${leftover}')`,
    `insert into archived_notes values ('fabrikam', ${bytesOf(NOTE)}, '1', 1, ${HALF}, 2)`,
    `insert into archived_notes values ('fabrikam', ${bytesOf(REDACTED)}, '1', 5, null, 6)`,
    `insert into archived_time_entries values ('fabrikam', ${bytesOf(REVIEWED)}, '1', 3, ${HALF}, 5, 'fay', 30, 1, 20000, 100, 0, 1)`,
    `delete from audit_log where seq <= ${ARCHIVED}`,
  ];
}
const leftover = objectName(organization, 1, ARCHIVED, 'f'.repeat(64));

test('an archive of the previous release is complete after the upgrade, and shows no redacted text', async () => {
  const persistTo = await mkdtemp(join(tmpdir(), 'twb-upgrade-'));
  try {
    await withLocalD1(persistTo, async (db, archive) => {
      const names = await migrationNames();
      await migrate(db, names.slice(0, names.indexOf(BEFORE)));
      const epoch = (await db.prepare('select epoch from database_epoch').first<string>('epoch')) ?? '';
      const lines = AUDIT.slice(0, ARCHIVED).map(([action, targetId], index) => {
        const [seq, requestId] = [index + 1, `r${index + 1}`];
        const change = { cursor: `${epoch}.${seq}.${requestId}`, seq, action, targetId, requestId };
        return `${JSON.stringify({ ...change, note: null, timeEntry: null, ...RECORDS[seq] })}\n`;
      });
      const bytes = new Uint8Array(gzipSync(lines.join('')));
      const digest = (await sha256(bytes)).toHex();
      const object = objectName(organization, 1, ARCHIVED, digest);
      for (const name of [object, leftover]) await archive?.put(name, bytes, digest);
      for (const sql of rows(object, digest, bytes.length)) await db.prepare(sql).run();
      await migrate(db);

      const ctx = () => ({ ...operatorContext(db, commandPorts(archive)), archive });
      const exported = async () => {
        const parts: string[] = [];
        await exportChanges(ctx, organization, null, async (part) => parts.push(part), {});
        return parts
          .join('')
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line));
      };
      const redact = (kind: 'note' | 'time_entry', id: string) =>
        redactRecord(ctx(), { organization, kind, id, by: 'Ada' });
      const stored = async () => {
        const names = (await archive?.list(''))?.objects.map(({ name }) => name) ?? [];
        const objects = await Promise.all(names.map(async (name) => gunzipSync((await archive?.get(name)) ?? '')));
        return objects.map(String);
      };

      const before = await exported();
      expect(before.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      expect(before[2]).toMatchObject({
        timeEntry: { id: ENTRY, minutes: 47, description: { text: 'Replaced the disk' }, status: 'SUBMITTED' },
      });
      expect(JSON.stringify(before)).not.toContain('hunter2');
      // The object that the previous release was about to delete.
      const check = { read: true, remove: true, repair: false };
      expect((await checkArchives(ctx, organization, check)).findings).toEqual([
        { object: leftover, finding: 'deleted' },
      ]);

      expect(await redact('note', REDACTED)).toEqual({ status: 'unchanged' });
      expect(await redact('time_entry', REVIEWED)).toEqual({ status: 'redacted' });
      const objects = await stored();
      expect([objects.length, objects.join('')]).toEqual([1, expect.not.stringMatching(/hunter[24]/)]);

      const review = (entry: string) =>
        setApproval(ctx(), { organization, entry, decision: 'REJECTED', reviewer: 'fay' });
      await expect(review(REVIEWED)).rejects.toMatchObject({ code: 'already_reviewed' });
      expect(await review(ENTRY)).toEqual({ status: 'REJECTED' });
      await redact('note', NOTE);
      const { cursor } = await listChanges(ctx(), { organization, cursor: before[6].cursor });
      await releaseChanges(ctx(), { organization, cursor: cursor ?? '' });
      expect(await archiveStep(ctx(), organization, { before: Date.now(), isPushed: false })).toMatchObject({
        fromSeq: 8,
      });
      // It leaves with the line that is archived first: its creation was before the upgrade.
      const after = await exported();
      expect(after.filter(({ timeEntry }) => timeEntry?.id === ENTRY)).toMatchObject([
        { action: 'time_entry.rejected', timeEntry: { minutes: 47, status: 'REJECTED' } },
      ]);
      expect(await db.prepare('select count(*) as n from time_entries').first('n')).toBe(0);
      await redact('time_entry', ENTRY);
      expect((await stored()).join('')).not.toContain('Replaced the disk');
      expect((await db.prepare('pragma foreign_key_check').all()).results).toEqual([]);
    });
  } finally {
    await rm(persistTo, { recursive: true });
  }
});
