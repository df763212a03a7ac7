import type { TimeEntryStatus } from '../../domain/time-entry.ts';
import { NEXT_SEQ } from '../audit/audit-columns.ts';
import { type AdministratorValues, BY_ACTIVE_ADMINISTRATOR } from '../directory/administrator-statements.ts';
import { statement } from '../statement.ts';
import { idBytes } from './record-table.ts';
import { TIME_ENTRIES } from './time-entry-statements.ts';

/** Sets the status of a SUBMITTED entry, if the user is an active administrator. */
export const recordApproval = statement<AdministratorValues & { id: string; status: TimeEntryStatus }>(`
  update time_entries set status = :status, review_seq = ${NEXT_SEQ}
  where organization_id = :organizationId and id = :id and status = 'SUBMITTED' and ${BY_ACTIVE_ADMINISTRATOR}`);

/** The same for an archived entry: sets the status of its stub. */
export const recordArchivedApproval = statement<AdministratorValues & { id: string; status: TimeEntryStatus }>(`
  update archived_time_entries set approved = :status = 'APPROVED', review_seq = ${NEXT_SEQ}
  where organization_id = :organizationId and id = ${idBytes(':id')} and review_seq is null and ${BY_ACTIVE_ADMINISTRATOR}`);

/** The review of an entry. All fields except the status are null while it is SUBMITTED, or if the review is archived. */
export interface ApprovalRow {
  status: TimeEntryStatus;
  decidedAt: number | null;
  decidedBy: string | null;
}

/** The approval of an entry; no row if there is no such entry. */
export const findApproval = statement<{ organizationId: string; id: string }, ApprovalRow>(`
  select e.status, a.at as decidedAt, a.actor_id as decidedBy
  from time_entries e left join audit_log a on a.organization_id = e.organization_id and a.seq = e.review_seq
  where e.organization_id = :organizationId and e.id = :id
  union all
  select ${TIME_ENTRIES.archived.fields['status']}, a.at, a.actor_id
  from archived_time_entries s left join audit_log a on a.organization_id = s.organization_id and a.seq = s.review_seq
  where s.organization_id = :organizationId and s.id = ${idBytes(':id')}`);
