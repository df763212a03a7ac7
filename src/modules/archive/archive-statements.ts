import { statement } from '../../db/statement.ts';
import { type ArchiveRow, archivesWhere, IS_LEFT_OUT } from '../../db/work/archives.ts';
import { stubJson } from '../../db/work/changes.ts';
import { idBytes } from '../../db/work/record-table.ts';
import { RECORD_TABLES } from '../../db/work/record-tables.ts';
import { forEachKind, RECORD_KIND_NAMES, type RecordKind } from '../../domain/record-kinds.ts';

/** The archives that have changes of a period, the newest first. Null: no bound. */
export const findArchivesOfPeriod = statement<
  { organizationId: string; since: number | null; until: number | null; limit: number },
  ArchiveRow
>(
  archivesWhere(
    '(:since is null or last_at >= :since) and (:until is null or first_at < :until) order by to_seq desc limit :limit',
  ),
);

/** The `seq` of the audit rows that took these records into the archive, or of their writes. */
const SEQS_ABOUT = RECORD_KIND_NAMES.flatMap((kind) => {
  const { table, archived } = RECORD_TABLES[kind];
  return [
    `select archived_seq as seq from ${archived.table} where organization_id = :organizationId and id in (${idBytes(':id')}, ${idBytes(`:${kind}`)})`,
    `select audit_seq from ${table} where organization_id = :organizationId and id in (:id, :${kind})`,
  ];
});

/** `id`, or the id that each kind derives from an Idempotency-Key (a parameter named like the kind). */
export const findArchivesAbout = statement<
  { organizationId: string; id: string } & Record<RecordKind, string>,
  ArchiveRow
>(
  archivesWhere(`to_seq in (
    select (select min(to_seq) from archives where organization_id = :organizationId and to_seq >= seq)
    from (${SEQS_ABOUT.join(' union all ')})) order by to_seq`),
);

/** The newest archive whose object is not left out. */
export const findNewestArchive = statement<{ organizationId: string; without: string }, ArchiveRow>(
  archivesWhere(`not ${IS_LEFT_OUT} order by to_seq desc limit 1`),
);

/** A row, if the organization has released something. An erasure removes it before the objects. */
export const findReleased = statement<{ organizationId: string }, { seq: number }>(
  'select seq from releases where organization_id = :organizationId',
);

/** A row, if the organization was erased and has released nothing since. */
export const findErased = statement<{ organizationId: string }, { organizationId: string }>(`
  select organization_id as organizationId from erasures where organization_id = :organizationId
    and not exists (select 1 from releases where organization_id = :organizationId) limit 1`);

export interface StubRow {
  /** Its UUID in hex, without hyphens. */
  id: string;
  /** Itself as JSON, without the text. */
  record: string;
  /** The first half of the request's digest in hex; empty if the record was redacted. */
  requestDigest: string;
  /** The email address of the credited user; null for the service account. */
  email: string | null;
}

/** The stubs of the records that were created in a segment. */
export const findStubs = forEachKind((kind) => {
  const { table, fields } = RECORD_TABLES[kind].archived;
  const user = 'userId' in fields ? `u.organization_id = s.organization_id and u.id = ${fields['userId']}` : 'false';
  return statement<Pick<ArchiveRow, 'organizationId' | 'fromSeq' | 'toSeq'>, StubRow>(`
    select lower(hex(s.id)) as id, ${stubJson(kind, 'lower(hex(s.id))')} as record,
      lower(hex(s.request_digest)) as requestDigest, u.email as email
    from ${table} s left join users u on ${user} and u.is_service = 0
    where s.organization_id = :organizationId and s.archived_seq between :fromSeq and :toSeq`);
});

type Revision = Pick<ArchiveRow, 'organizationId' | 'toSeq' | 'revision'>;
type Replacement = Revision & Pick<ArchiveRow, 'object' | 'digest' | 'bytes'>;

const OF_REVISION = 'where organization_id = :organizationId and to_seq = :toSeq and revision = :revision';
const REPLACE = `update archives set object = :object, digest = :digest, bytes = :bytes, revision = revision + 1, damaged_at = null ${OF_REVISION}`;

export const replaceObject = statement<Replacement>(REPLACE);

/** The same in the transaction of a redaction: after an audit row that was written. */
export const replaceRedacted = statement<Replacement>(`${REPLACE} and changes() = 1`);

/** Lets the calls fail that are about to replace the object of a segment. */
export const claimSegment = statement<Revision>(`update archives set revision = revision + 1 ${OF_REVISION}`);

/** Records whether the object of a segment is missing or damaged (1), or as it was stored (0). */
export const markChecked = statement<
  Pick<ArchiveRow, 'organizationId' | 'toSeq' | 'object'> & { isDamaged: number; now: number }
>(`
  update archives set damaged_at = iif(:isDamaged = 1, coalesce(damaged_at, :now), null)
  where organization_id = :organizationId and to_seq = :toSeq and object = :object`);
