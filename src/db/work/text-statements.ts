import { REDACTED } from '../../domain/change.ts';
import { forEachKind } from '../../domain/record-kinds.ts';
import { statement } from '../statement.ts';
import { RECORD_TABLES } from './record-tables.ts';

interface RecordValues {
  organizationId: string;
  id: string;
}

/** Replaces a text with "[redacted]", and removes the request digest, which could confirm a guess at it. */
export const markRedacted = forEachKind((kind) => {
  const { table, textColumn } = RECORD_TABLES[kind];
  return statement<RecordValues>(`update ${table} set ${textColumn} = '${REDACTED}', request_digest = ''
    where organization_id = :organizationId and id = :id and ${textColumn} <> '${REDACTED}'`);
});

export const findRecord = forEachKind((kind) =>
  statement<RecordValues, { id: string }>(
    `select id from ${RECORD_TABLES[kind].table} where organization_id = :organizationId and id = :id`,
  ),
);
