import { columns, type Fields, statement } from '../statement.ts';

// The archives of an organization: the parts of its audit log that are objects in R2.

/** One archive. Times are UTC milliseconds. */
export interface ArchiveRow {
  fromSeq: number;
  toSeq: number;
  /** When its first and its last change were made. */
  firstAt: number;
  lastAt: number;
  lastRequestId: string;
  /** The name of its object, the SHA-256 in hex, and the size in bytes. */
  object: string;
  digest: string;
  bytes: number;
}

const FIELDS: Fields<ArchiveRow> = {
  fromSeq: 'from_seq',
  toSeq: 'to_seq',
  firstAt: 'first_at',
  lastAt: 'last_at',
  lastRequestId: 'last_request_id',
  object: 'object',
  digest: 'digest',
  bytes: 'bytes',
};

const archivesWhere = (condition: string) =>
  `select ${columns(FIELDS)} from archives where organization_id = :organizationId and ${condition}`;

/** The archives that have changes after `seq`, the oldest first. */
export const findArchivesAfter = statement<{ organizationId: string; seq: number; limit: number }, ArchiveRow>(
  archivesWhere('to_seq > :seq order by to_seq limit :limit'),
);

/** The archives that have changes of a period, the newest first. Null: no bound. */
export const findArchivesOfPeriod = statement<
  { organizationId: string; since: number | null; until: number | null; limit: number },
  ArchiveRow
>(
  archivesWhere(
    '(:since is null or last_at >= :since) and (:until is null or first_at < :until) order by to_seq desc limit :limit',
  ),
);

/** The archive that ends with this `seq`. */
export const findArchive = statement<{ organizationId: string; toSeq: number }, ArchiveRow>(
  archivesWhere('to_seq = :toSeq'),
);

/** The archive with an object of this name, in the organization that its name begins with. */
export const findArchiveOfObject = statement<{ organizationId: string; object: string }, ArchiveRow>(
  archivesWhere('object = :object'),
);

/**
 * Puts another object in the place of one, in the transaction of a redaction: after an audit row that
 * was written, and if the object is still the one that was read.
 */
export const switchObject = statement<{
  organizationId: string;
  toSeq: number;
  from: string;
  object: string;
  digest: string;
  bytes: number;
}>(`
  update archives set object = :object, digest = :digest, bytes = :bytes
  where organization_id = :organizationId and to_seq = :toSeq and object = :from and changes() = 1`);
