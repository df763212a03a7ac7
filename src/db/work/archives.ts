import { columns, type Fields, statement } from '../statement.ts';

// The archives of an organization: the parts of its audit log that are objects in R2.

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
  /** How often the object was replaced. */
  revision: number;
  /** Since when its object is known to be missing or damaged; null if it is not. */
  damagedAt: number | null;
}

export const ARCHIVE_FIELDS: Fields<ArchiveRow> = {
  fromSeq: 'from_seq',
  toSeq: 'to_seq',
  firstAt: 'first_at',
  lastAt: 'last_at',
  lastRequestId: 'last_request_id',
  object: 'object',
  digest: 'digest',
  bytes: 'bytes',
  revision: 'revision',
  damagedAt: 'damaged_at',
};

/** Reads the archives of an organization for which a condition holds. */
export const archivesWhere = (condition: string) =>
  `select ${columns(ARCHIVE_FIELDS)} from archives where organization_id = :organizationId and ${condition}`;

/** The archives that have changes after `seq`, the oldest first. */
export const findArchivesAfter = statement<{ organizationId: string; seq: number; limit: number }, ArchiveRow>(
  archivesWhere('to_seq > :seq order by to_seq limit :limit'),
);
