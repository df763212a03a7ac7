import { REDACTED } from '../../domain/change.ts';
import {
  type Approver,
  forEachKind,
  RECORD_KINDS,
  type RecordKind,
  type TimeEntryStatus,
} from '../../domain/record-kinds.ts';
import { NEXT_SEQ } from '../audit/audit-columns.ts';
import { type AdministratorValues, BY_ACTIVE_ADMINISTRATOR } from '../directory/administrator-statements.ts';
import { statement } from '../statement.ts';
import { RECORD_TABLES } from './record-tables.ts';

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

/** The review of an entry. All fields except the status are null while it is SUBMITTED. */
export interface ApprovalRow {
  status: TimeEntryStatus;
  decidedAt: number | null;
  decidedBy: string | null;
}

/** The approval of an entry; no row if there is no such entry. */
export const findApproval = statement<{ organizationId: string; id: string }, ApprovalRow>(`
  select e.status, a.at as decidedAt, a.actor_id as decidedBy
  from time_entries e left join audit_log a on a.organization_id = e.organization_id and a.seq = e.approval_seq
  where e.organization_id = :organizationId and e.id = :id`);

// The records that the PSA could not take. Nothing is written about a record that it takes.

/** Condition: the record exists. */
const HAS_RECORD = forEachKind(
  (kind) =>
    `exists (select 1 from ${RECORD_TABLES[kind].table} r where r.organization_id = :organizationId and r.id = :id)`,
);

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

/** How many records the PSA refused, and since when: of all organizations with ids between `from` and `to`. */
export const countRefusals = statement<{ from: string; to: string }, { refused: number; since: number | null }>(
  'select count(*) as refused, min(refused_at) as since from psa_refusals where organization_id between :from and :to',
);
