import { forEachKind } from '../../domain/record-kinds.ts';
import { columns, statement } from '../statement.ts';
import { ARCHIVE_FIELDS, type ArchiveRow } from './archives.ts';
import { idBytes } from './record-table.ts';
import { RECORD_TABLES } from './record-tables.ts';

// The stubs of archived records, for their redaction.

interface RecordValues {
  organizationId: string;
  id: string;
}

/** The archive that has a record, and whether that was redacted: 1 or 0. */
export interface ArchivedRecordRow extends ArchiveRow {
  isRedacted: number;
}

export const findArchivedRecord = forEachKind((kind) =>
  statement<RecordValues, ArchivedRecordRow>(`
    select s.redacted as isRedacted, ${columns(ARCHIVE_FIELDS, 'a')}
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
