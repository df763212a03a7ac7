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

/** The review of an entry. All fields except the status are null while it is SUBMITTED or archived. */
export interface ApprovalRow {
  status: TimeEntryStatus;
  decidedAt: number | null;
  decidedBy: string | null;
}

/** The approval of an entry; no row if there is no such entry. Of an archived one, only the status is known. */
export const findApproval = statement<{ organizationId: string; id: string }, ApprovalRow>(`
  select e.status, a.at as decidedAt, a.actor_id as decidedBy
  from time_entries e left join audit_log a on a.organization_id = e.organization_id and a.seq = e.review_seq
  where e.organization_id = :organizationId and e.id = :id
  union all
  select ${TIME_ENTRIES.archived.fields['status']}, null, null from ${TIME_ENTRIES.archived.table} s
  where s.organization_id = :organizationId and s.id = ${idBytes(':id')}`);
