import { insertInto, statement } from '../../db/statement.ts';
import type { ArchiveRow } from '../../db/work/archives.ts';
import { idBytes } from '../../db/work/record-table.ts';
import { RECORD_TABLES } from '../../db/work/record-tables.ts';
import { RECORD_KIND_NAMES, type RecordKind } from '../../domain/record-kinds.ts';

// The statements with which a segment of an audit log leaves the database, after its object was
// stored. They are sent as one transaction, in the order of `archiveSegment`.

export interface ArchivableRow {
  epoch: string;
  /** The `seq` of the last change, and of the last archived one. */
  newestSeq: number;
  archivedSeq: number;
  /** The last one that may be archived: it is released, and not the newest. */
  lastSeq: number;
}

/** 1 if a push is on: it must have confirmed every archived change. */
interface PushValue {
  isPushed: number;
}

const NEWEST = '(select max(seq) from audit_log where organization_id = r.organization_id)';
const ARCHIVED = 'coalesce((select max(to_seq) from archives where organization_id = r.organization_id), 0)';
const CONFIRMED =
  'iif(:isPushed = 1, coalesce((select confirmed_seq from pushes where organization_id = r.organization_id), 0), r.seq)';
const LAST = `min(r.seq, ${NEWEST} - 1, ${CONFIRMED})`;

/** What may be archived of an organization; no row if nothing is released. */
export const findArchivable = statement<{ organizationId: string } & PushValue, ArchivableRow>(`
  select d.epoch, ${NEWEST} as newestSeq, ${ARCHIVED} as archivedSeq, ${LAST} as lastSeq
  from releases r cross join database_epoch d where r.organization_id = :organizationId`);

/**
 * Organizations with a change from before the time `waiting`, or at least `full` changes from before
 * the later time `before`, that may be archived. Which ones are found is random if there are more than
 * `limit`, so that none is left out every time. The cross join keeps SQLite from reading every audit log.
 */
export const findDueArchives = statement<
  { before: number; waiting: number; full: number; limit: number } & PushValue,
  { organizationId: string }
>(`
  select r.organization_id as organizationId
  from releases r cross join audit_log a on a.organization_id = r.organization_id and a.seq = ${ARCHIVED} + 1
  where a.at < :before and a.seq <= ${LAST} and (a.at < :waiting or exists (select 1 from audit_log f
    where f.organization_id = r.organization_id and f.seq = a.seq + :full - 1 and f.seq <= ${LAST} and f.at < :before))
  order by random() limit :limit`);

type NewSegment = Pick<
  ArchiveRow,
  'organizationId' | 'fromSeq' | 'toSeq' | 'object' | 'firstAt' | 'digest' | 'bytes'
> & {
  newestSeq: number;
};

/**
 * Records the archive. Does nothing unless it continues the previous one, is released, leaves the
 * newest row, and no record was redacted since the rows were read, when `newestSeq` was the last one.
 */
const insertArchive = `
  ${insertInto('archives', {
    organization_id: 'a.organization_id',
    to_seq: 'a.seq',
    from_seq: ':fromSeq',
    first_at: ':firstAt',
    last_at: 'a.at',
    last_request_id: 'a.request_id',
    object: ':object',
    digest: ':digest',
    bytes: ':bytes',
  })}
  from audit_log a join releases r on r.organization_id = a.organization_id and r.seq >= a.seq
  where a.organization_id = :organizationId and a.seq = :toSeq and a.seq < ${NEWEST} and :fromSeq = ${ARCHIVED} + 1
    and not exists (select 1 from audit_log n where n.organization_id = :organizationId and n.seq > :newestSeq
      and n.action glob '*.redacted')`;

const IS_ARCHIVED =
  'exists (select 1 from archives where organization_id = :organizationId and to_seq = :toSeq and object = :object)';
const ROWS = 'organization_id = :organizationId and seq between :fromSeq and :toSeq';
/** The records in the range, each with the seq of its creation. */
const firstRows = (kind: RecordKind) =>
  `select target_id, min(seq) as seq from audit_log where ${ROWS} and action glob '${kind}.*' group by target_id`;

/** The records' stubs. The first half of the digest is enough to compare requests. */
const leaveRecords = (kind: RecordKind) => {
  const { table, archived } = RECORD_TABLES[kind];
  return `${insertInto(archived.table, {
    organization_id: 'r.organization_id',
    id: idBytes('r.id'),
    ticket_id: 'r.ticket_id',
    created_at: 'r.created_at',
    chain_id: idBytes('k.chain_id'),
    request_digest: "iif(r.request_digest = '', null, unhex(substr(r.request_digest, 1, 32)))",
    archived_seq: 'a.seq',
    redacted: "r.request_digest = ''",
    ...archived.columns,
  })}
  from (${firstRows(kind)}) a
  cross join ${table} r on r.organization_id = :organizationId and r.id = a.target_id
  cross join api_keys k on k.organization_id = r.organization_id and k.id = r.key_id
  where ${IS_ARCHIVED}`;
};

const deleteRecords = (kind: RecordKind) =>
  `delete from ${RECORD_TABLES[kind].table} where organization_id = :organizationId and id in (select target_id from (${firstRows(kind)})) and ${IS_ARCHIVED}`;

export const archiveSegment = [
  insertArchive,
  ...RECORD_KIND_NAMES.flatMap((kind) => [leaveRecords(kind), deleteRecords(kind)]),
  `delete from audit_log where ${ROWS} and ${IS_ARCHIVED}`,
].map((sql) => statement<NewSegment>(sql));
