import { REDACTED } from '../../domain/change.ts';
import { forEachKind, RECORD_KINDS, type RecordKind } from '../../domain/record-kinds.ts';
import type { Approver, TimeEntryStatus } from '../../domain/time-entry.ts';
import { NEXT_SEQ } from '../audit/audit-columns.ts';
import { type AdministratorValues, BY_ACTIVE_ADMINISTRATOR } from '../directory/administrator-statements.ts';
import { columns, statement } from '../statement.ts';
import { ARCHIVE_COLUMNS, type ArchiveRow } from './archives.ts';
import { idBytes } from './record-table.ts';
import { RECORD_TABLES } from './record-tables.ts';
import { TIME_ENTRIES } from './time-entry-statements.ts';

interface RecordValues {
  organizationId: string;
  id: string;
}

/** Replaces a text with "[redacted]", and removes the request digest, which could confirm a guess at it. */
export const markRedacted = forEachKind((kind) => {
  const { textField } = RECORD_KINDS[kind];
  return statement<RecordValues>(`update ${RECORD_TABLES[kind].table} set ${textField} = '${REDACTED}', request_digest = ''
    where organization_id = :organizationId and id = :id and ${textField} <> '${REDACTED}'`);
});

export const findRecord = forEachKind((kind) =>
  statement<RecordValues, { id: string }>(
    `select id from ${RECORD_TABLES[kind].table} where organization_id = :organizationId and id = :id`,
  ),
);

// The stubs of archived records, for their redaction.

/** The archive that has a record, and whether that was redacted: 1 or 0. */
export interface ArchivedRecordRow extends ArchiveRow {
  isRedacted: number;
}

export const findArchivedRecord = forEachKind((kind) =>
  statement<RecordValues, ArchivedRecordRow>(`
    select s.redacted as isRedacted, ${columns(ARCHIVE_COLUMNS, 'a')}
    from ${RECORD_TABLES[kind].archived.table} s join archives a on a.organization_id = s.organization_id
      and a.to_seq = (select min(to_seq) from archives where organization_id = s.organization_id and to_seq >= s.archived_seq)
    where s.organization_id = :organizationId and s.id = ${idBytes(':id')}`),
);

/** Marks an archived record as redacted, unless it is, if its archive is still of this revision. */
export const markArchivedRedacted = forEachKind((kind) =>
  statement<RecordValues & { toSeq: number; revision: number }>(`
    update ${RECORD_TABLES[kind].archived.table} set redacted = 1, request_digest = null
    where organization_id = :organizationId and id = ${idBytes(':id')} and redacted = 0
      and exists (select 1 from archives where organization_id = :organizationId and to_seq = :toSeq and revision = :revision)`),
);

/** The ids, of those in a JSON array, of archived records that are redacted. */
export const findRedacted = forEachKind((kind) =>
  statement<{ organizationId: string; ids: string }, { id: string }>(`
    select i.value as id from json_each(:ids) i cross join ${RECORD_TABLES[kind].archived.table} s
      on s.organization_id = :organizationId and s.id = ${idBytes('i.value')}
    where s.redacted = 1`),
);

interface ApprovalValues extends AdministratorValues {
  id: string;
  status: TimeEntryStatus;
  approver: Approver;
}

/** Condition: the user is an active administrator, and the approver may decide now. The PSA always may. */
const MAY_DECIDE = `${BY_ACTIVE_ADMINISTRATOR}
    and (:approver = 'psa' or exists (select 1 from organizations where id = :organizationId and approvals = :approver))`;

/** Sets the status of a SUBMITTED entry. */
export const recordApproval = statement<ApprovalValues>(`
  update time_entries set status = :status, approval_seq = ${NEXT_SEQ}
  where organization_id = :organizationId and id = :id and status = 'SUBMITTED' and ${MAY_DECIDE}`);

/** The same for an archived entry: sets the status of its stub. */
export const recordArchivedApproval = statement<ApprovalValues>(`
  update archived_time_entries set approved = :status = 'APPROVED', approval_seq = ${NEXT_SEQ}
  where organization_id = :organizationId and id = ${idBytes(':id')} and approval_seq is null and ${MAY_DECIDE}`);

/** The review of an entry. All fields except the status are null while it is SUBMITTED, or if the review is archived. */
export interface ApprovalRow {
  status: TimeEntryStatus;
  decidedAt: number | null;
  decidedBy: string | null;
}

/** The approval of an entry; no row if there is no such entry. */
export const findApproval = statement<{ organizationId: string; id: string }, ApprovalRow>(`
  select e.status, a.at as decidedAt, a.actor_id as decidedBy
  from time_entries e left join audit_log a on a.organization_id = e.organization_id and a.seq = e.approval_seq
  where e.organization_id = :organizationId and e.id = :id
  union all
  select ${TIME_ENTRIES.archived.fields['status']}, a.at, a.actor_id
  from archived_time_entries s left join audit_log a on a.organization_id = s.organization_id and a.seq = s.approval_seq
  where s.organization_id = :organizationId and s.id = ${idBytes(':id')}`);

// The records that the PSA could not take. Nothing is written about a record that it takes.

const exists = (table: string, id: string) =>
  `exists (select 1 from ${table} r where r.organization_id = :organizationId and r.id = ${id})`;
/** Condition: the record exists, archived or not. */
const HAS_RECORD = forEachKind((kind) => {
  const { table, archived } = RECORD_TABLES[kind];
  return `(${exists(table, ':id')} or ${exists(archived.table, idBytes(':id'))})`;
});

/** Stores that the PSA refused an existing record, unless that is stored with the same reason. */
export const recordRefusal = forEachKind((kind) =>
  statement<RecordValues & { reason: string; now: number }>(`
    insert into psa_refusals (organization_id, record_id, kind, reason, refused_at)
    select :organizationId, :id, '${kind}', :reason, :now where ${HAS_RECORD[kind]}
    on conflict (organization_id, record_id) do update set reason = excluded.reason, refused_at = excluded.refused_at
    where psa_refusals.reason <> excluded.reason`),
);

/** Removes the stored refusal of a record by the PSA. */
export const withdrawRefusal = statement<RecordValues & { kind: RecordKind }>(
  'delete from psa_refusals where organization_id = :organizationId and record_id = :id and kind = :kind',
);

/** The record, archived or not; no row if the organization does not have it. */
export const findReported = forEachKind((kind) =>
  statement<RecordValues, { id: string }>(`select :id as id where ${HAS_RECORD[kind]}`),
);

/** How many records the PSA refused, and since when: of all organizations with ids between `from` and `to`. */
export const countRefusals = statement<{ from: string; to: string }, { refused: number; since: number | null }>(
  'select count(*) as refused, min(refused_at) as since from psa_refusals where organization_id between :from and :to',
);
