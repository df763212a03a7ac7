import { sql } from 'drizzle-orm';
import { expectTypeOf, test } from 'vitest';
import { nextSeq } from '../../src/db/audit/audit-log-statements.ts';
import { findKeyByHash, type KeyRow } from '../../src/db/keys/find-key-statements.ts';
import { type BoundStatement, type Database, type Input, named, once, valuesFor } from '../../src/db/query.ts';
import { keyDays, notes, type timeEntries } from '../../src/db/schema/work.ts';
import { insertServiceTimeEntry, type StoredTimeEntry } from '../../src/db/work/time-entry-statements.ts';
import type { Inserted } from '../../src/db/work/write.ts';
import { writeWithAudit } from '../../src/services/audit/write-with-audit.ts';
import type { AuditTarget, ServiceContext } from '../../src/services/service-context.ts';

// What the compiler must refuse and infer: `tsc` checks these tests.

const deleteNote = (db: Database, values: Input<{ id: string }>) =>
  db
    .delete(notes)
    .where(sql`${notes.id} = ${values.id}`)
    .returning(named({ id: notes.id, length: sql<number>`length(${notes.message})` }));

test('the rows of a statement have the fields that it selects', () => {
  expectTypeOf(once(deleteNote)).returns.toEqualTypeOf<BoundStatement<{ id: string; length: number }>>();
  expectTypeOf(findKeyByHash).returns.branded.toEqualTypeOf<BoundStatement<KeyRow & { found: number }>>();
  expectTypeOf(insertServiceTimeEntry).returns.branded.toEqualTypeOf<BoundStatement<StoredTimeEntry & Inserted>>();
  // @ts-expect-error It does not return `other`.
  once<{ id: string }, { id: string; other: string }>(deleteNote);
});

test('the rows of an audited change are those of its statement', () => {
  const change = { action: 'note.redacted', targetId: 'note' } as const;
  const send = (ctx: ServiceContext, target: AuditTarget) =>
    writeWithAudit(ctx, target, 'safe_to_repeat', (db) => [{ ...change, statement: deleteNote(db, { id: 'note' }) }]);
  expectTypeOf(send).returns.resolves.toEqualTypeOf<D1Result<{ id: string; length: number }>[]>();
  const sendOther = (ctx: ServiceContext, target: AuditTarget) =>
    writeWithAudit<{ id: string; other: string }>(ctx, target, 'safe_to_repeat', (db) => [
      // @ts-expect-error It does not return `other`.
      { ...change, statement: deleteNote(db, { id: 'note' }) },
    ]);
  expectTypeOf(sendOther).toBeFunction();
});

test('the values of a new row have the types of their columns', () => {
  const day = {
    organizationId: 'a',
    chainId: sql`b`,
    keyId: sql.placeholder('c'),
    notes: 1,
    timeEntries: 0,
    lastAt: 0,
  };
  const counted = { ...day, minutes: 0, bytes: 1, lastAddress: null };
  valuesFor(keyDays, { ...counted, day: '2026-11-01' });
  // @ts-expect-error The column is not null.
  valuesFor(keyDays, { ...counted, day: null });
  // @ts-expect-error The column contains text.
  valuesFor(keyDays, { ...counted, day: 5 });
  // @ts-expect-error A value is missing.
  valuesFor(keyDays, counted);
  type Values = Parameters<typeof valuesFor<typeof timeEntries>>[1];
  expectTypeOf<null>().not.toExtend<Values['workDate']>();
  expectTypeOf<5>().not.toExtend<Values['workDate']>();
  expectTypeOf<'DONE'>().not.toExtend<Values['status']>();
});

test('a condition needs its value', () => {
  nextSeq('northwind');
  // @ts-expect-error The organization is missing.
  nextSeq(undefined);
});
