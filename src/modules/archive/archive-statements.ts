import { columns, statement } from '../../db/statement.ts';
import { type ArchiveRow, archivesWhere } from '../../db/work/archives.ts';
import { idBytes } from '../../db/work/record-table.ts';
import { RECORD_TABLES } from '../../db/work/record-tables.ts';
import { RECORD_KIND_NAMES, type RecordKind } from '../../domain/record-kinds.ts';

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

/**
 * The archives with the records that have this id, or the id that each kind derives from an
 * Idempotency-Key (a parameter named like the kind).
 */
export const findArchivesAbout = statement<
  { organizationId: string; id: string } & Record<RecordKind, string>,
  ArchiveRow
>(
  archivesWhere(`to_seq in (
    select (select min(to_seq) from archives where organization_id = :organizationId and to_seq >= seq)
    from (${SEQS_ABOUT.join(' union all ')})) order by to_seq`),
);

/** The archive that ends with this `seq`. */
export const findArchive = statement<{ organizationId: string; toSeq: number }, ArchiveRow>(
  archivesWhere('to_seq = :toSeq'),
);

/** The archive with an object of this name, in the organization that its name begins with. */
export const findArchiveOfObject = statement<{ organizationId: string; object: string }, ArchiveRow>(
  archivesWhere('object = :object'),
);

/** An object, and the one whose place it takes. */
interface Replacement {
  organizationId: string;
  toSeq: number;
  from: string;
  object: string;
  digest: string;
  bytes: number;
}

const REPLACE = `update archives set object = :object, digest = :digest, bytes = :bytes, replaced_object = nullif(:from, :object)
  where organization_id = :organizationId and to_seq = :toSeq and object = :from`;

/** Puts another object in the place of one. The other is still to be deleted, if it exists. */
export const replaceObject = statement<Replacement>(REPLACE);

/** The same in the transaction of a redaction: after an audit row that was written. */
export const switchObject = statement<Replacement>(`${REPLACE} and changes() = 1`);

/** An object that was replaced and is to be deleted. */
export interface ReplacedRow {
  organizationId: string;
  toSeq: number;
  replacedObject: string;
}

/** Objects that were replaced and are to be deleted. */
export const findReplaced = statement<{ limit: number }, ReplacedRow>(`
  select ${columns<ReplacedRow>({ organizationId: 'organization_id', toSeq: 'to_seq', replacedObject: 'replaced_object' })}
  from archives where replaced_object is not null limit :limit`);

/** Forgets an object that was replaced, after it was deleted. */
export const forgetReplaced = statement<ReplacedRow>(`
  update archives set replaced_object = null
  where organization_id = :organizationId and to_seq = :toSeq and replaced_object = :replacedObject`);
