import { forEachKind } from '../../domain/record-kinds.ts';
import { statement } from '../statement.ts';
import { idBytes } from './record-table.ts';
import { RECORD_TABLES } from './record-tables.ts';

// What is left of archived records, for their redaction and review.

interface RecordValues {
  organizationId: string;
  id: string;
}

export interface ArchivedRecordRow {
  ticketId: string;
  /** 1 if it was redacted. */
  isRedacted: number;
  fromSeq: number;
  toSeq: number;
  object: string;
  digest: string;
  /** The object that a redaction replaced, if it is not deleted yet. */
  replacedObject: string | null;
}

export const findArchivedRecord = forEachKind((kind) =>
  statement<RecordValues, ArchivedRecordRow>(`
    select s.ticket_id as ticketId, s.request_digest is null as isRedacted, a.from_seq as fromSeq, a.to_seq as toSeq,
      a.object, a.digest, a.replaced_object as replacedObject
    from ${RECORD_TABLES[kind].archived.table} s join archives a on a.organization_id = s.organization_id
      and a.to_seq = (select min(to_seq) from archives where organization_id = s.organization_id and to_seq >= s.archived_seq)
    where s.organization_id = :organizationId and s.id = ${idBytes(':id')}`),
);

/**
 * Removes the digest of the request of an archived record, unless that is done, if its archive is
 * still the object `from`.
 */
export const markArchivedRedacted = forEachKind((kind) =>
  statement<RecordValues & { toSeq: number; from: string }>(`
    update ${RECORD_TABLES[kind].archived.table} set request_digest = null
    where organization_id = :organizationId and id = ${idBytes(':id')} and request_digest is not null
      and exists (select 1 from archives where organization_id = :organizationId and to_seq = :toSeq and object = :from)`),
);
