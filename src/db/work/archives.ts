import { columns, number, numberOrNull, type RowOf, statement, text } from '../statement.ts';

// The archives of an organization: the parts of its audit log that are objects in R2.

export const ARCHIVE_COLUMNS = {
  organizationId: text('organization_id'),
  fromSeq: number('from_seq'),
  toSeq: number('to_seq'),
  /** When its first and its last change were made. */
  firstAt: number('first_at'),
  lastAt: number('last_at'),
  lastRequestId: text('last_request_id'),
  /** The name of its object, the SHA-256 in hex, and the size in bytes. */
  object: text('object'),
  digest: text('digest'),
  bytes: number('bytes'),
  /** How often the object was replaced. */
  revision: number('revision'),
  /** Since when its object is known to be missing or damaged; null if it is not. */
  damagedAt: numberOrNull('damaged_at'),
};

export type ArchiveRow = RowOf<typeof ARCHIVE_COLUMNS>;

/** Condition: the object of the row is in the JSON array `:without`, or the array has `lost` and the check has marked it. */
export const IS_LEFT_OUT = `(object in (select value from json_each(:without))
    or (damaged_at is not null and 'lost' in (select value from json_each(:without))))`;

export const archivesWhere = (condition: string) =>
  `select ${columns(ARCHIVE_COLUMNS)} from archives where organization_id = :organizationId and ${condition}`;

/** The archives that have changes after `seq`, the oldest first. */
export const findArchivesAfter = statement<{ organizationId: string; seq: number; limit: number }, ArchiveRow>(
  archivesWhere('to_seq > :seq order by to_seq limit :limit'),
);
