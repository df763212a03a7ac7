import type { TimeEntryStatus } from '../../domain/record-kinds.ts';
import { columns, number, numberOrNull, type RowOf, statement, text, textOrNull } from '../statement.ts';

// Everything up to the mark of an organization is decided, so its queue is read from there on: no index of entries that
// wait, which each write would have to update.

/** How many rows of the audit log a page of the queue examines, and how many the count of what waits. */
export const EXAMINED = 1_000;
const COUNTED = 300;
/** The `seq` up to which all entries of the organization `o` are decided. */
const START = 'coalesce((select m.seq from approval_marks m where m.organization_id = o.id), 0)';
const LAST = 'coalesce((select max(seq) from audit_log where organization_id = o.id), 0)';

const QUEUE = {
  /** The `seq` after which the queue begins, and the last one. */
  start: number(START),
  last: number(LAST),
  approvals: text('o.approvals'),
};

export const findQueue = statement<{ organizationId: string }, RowOf<typeof QUEUE>>(
  `select ${columns(QUEUE)} from organizations o where o.id = :organizationId`,
);

const ENTRY = {
  /** The audit row of its write. */
  seq: number('w.seq'),
  id: text('w.id'),
  ticketId: text('w.ticket_id'),
  companyId: text('c.id'),
  company: text('c.name'),
  minutes: number('w.minutes'),
  billable: number('w.billable'),
  workDate: text('w.work_date'),
  hourlyRateMinor: number('w.hourly_rate_minor'),
  status: text<TimeEntryStatus>('w.status'),
  userId: text('w.user_id'),
  technician: text('u.name'),
  keyId: text('w.key_id'),
  keyName: text('k.name'),
  keyHint: text('k.hint'),
  /** Its first characters. */
  text: text('w.description'),
  decidedAt: numberOrNull('d.at'),
  decidedById: textOrNull('d.actor_id'),
  decidedBy: textOrNull('d.actor_name'),
  reason: textOrNull('d.detail'),
};

export type EntryRow = RowOf<typeof ENTRY>;
type EntryValues = { organizationId: string; characters: number };

/** The fields of an entry `e`. */
const FIELDS = `e.id, e.ticket_id, e.minutes, e.billable, e.work_date, e.hourly_rate_minor, e.status, e.user_id, e.key_id,
      substr(e.description, 1, :characters) as description, e.approval_seq`;
const entries = (source: string) => `
  select ${columns(ENTRY)}
  from (${source}) w
  cross join tickets t on t.organization_id = :organizationId and t.id = w.ticket_id
  cross join companies c on c.organization_id = :organizationId and c.id = t.company_id
  cross join users u on u.organization_id = :organizationId and u.id = w.user_id
  cross join api_keys k on k.organization_id = :organizationId and k.id = w.key_id
  left join audit_log d on d.organization_id = :organizationId and d.seq = w.approval_seq
  order by w.seq`;

/** The entries of a range of the audit log that have the status (null: any). */
export const findEntries = statement<
  EntryValues & { from: number; to: number; status: TimeEntryStatus | null },
  EntryRow
>(
  entries(`
    select a.seq, ${FIELDS}
    from audit_log a cross join time_entries e on e.organization_id = a.organization_id and e.id = a.target_id
    where a.organization_id = :organizationId and a.seq >= :from and a.seq < :to
      and a.action = 'time_entry.created' and (:status is null or e.status = :status)`),
);

/** The entries with these ids, a JSON array. */
export const findEntriesById = statement<EntryValues & { ids: string }, EntryRow>(
  entries(`
    select e.audit_seq as seq, ${FIELDS}
    from json_each(:ids) i cross join time_entries e on e.organization_id = :organizationId and e.id = i.value`),
);

/** Moves the mark of each organization with an id in a range past at most `examine` rows that need no decision. */
export const moveMarks = statement<{ from: string; to: string; examine: number }>(`
  insert into approval_marks (organization_id, seq)
  select p.id, p.seq from (
    select o.id, coalesce((
      select a.seq - 1 from audit_log a cross join time_entries e on e.organization_id = a.organization_id and e.id = a.target_id
      where a.organization_id = o.id and a.seq > o.start and a.seq <= o.start + :examine
        and a.action = 'time_entry.created' and e.status = 'SUBMITTED' order by a.seq limit 1),
      min(o.start + :examine, ${LAST})) as seq
    from (select o.id, ${START} as start from organizations o where o.id between :from and :to and o.active = 1) o) p
  where p.seq > 0
  on conflict (organization_id) do update set seq = excluded.seq where excluded.seq > approval_marks.seq`);

/** The entries that wait, of organizations that approve time in the settings area. */
export const waitingEntries = (condition: string) => `
  select o.id, a.at, o.last > o.start + ${COUNTED} as isMinimum
  from (select o.id, ${START} as start, ${LAST} as last from organizations o
    where o.approvals = 'settings' and ${condition}) o
  cross join audit_log a on a.organization_id = o.id and a.seq > o.start and a.seq <= o.start + ${COUNTED}
    and a.action = 'time_entry.created'
  cross join time_entries e on e.organization_id = a.organization_id and e.id = a.target_id
  where e.status = 'SUBMITTED'`;

/** How many entries wait, at most 100. */
export const countWaiting = statement<{ organizationId: string }, { count: number }>(
  `select count(*) as count from (${waitingEntries('o.id = :organizationId')} limit 100)`,
);
