import * as z from 'zod/mini';
import { listRecords as findRecordPage } from '../../db/directory/records.ts';
import { findCursorPosition } from '../../db/work/changes.ts';
import { DIRECTORY_TYPES, directoryId } from '../../domain/directory.ts';
import { lazyObject, ruleError, wholeUpTo } from '../../domain/fields.ts';
import type { ListedRecords } from '../../domain/psa-shapes.ts';
import { parseStored } from '../../domain/stored-json.ts';
import { query } from '../call-d1.ts';
import { parseInput } from '../parse-input.ts';
import type { ServiceContext } from '../service-context.ts';
import { requireValidCursor } from '../work/require-cursor.ts';
import { MAX_RECORDS } from './change-records.ts';

export const listRequest = lazyObject(() => ({
  organization: directoryId('an organization'),
  type: z.enum(DIRECTORY_TYPES, { error: ruleError(`one of ${DIRECTORY_TYPES.join(', ')}`) }),
  cursor: z._default(
    z.nullable(directoryId('the last record of the previous page, or null to start from the beginning')),
    null,
  ),
  limit: z._default(wholeUpTo(MAX_RECORDS), MAX_RECORDS),
}));

const recordShape = z.lazy(() => z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])));

/**
 * The records of one type that an organization has, active or not, in the order of their ids, in
 * the form that `upsertRecords` accepts.
 * @throws ServiceError `invalid`, `organization_not_found`, `being_erased`
 */
export async function listRecords(ctx: ServiceContext, request: z.input<typeof listRequest>): Promise<ListedRecords> {
  const { organization: organizationId, type, cursor, limit } = parseInput(listRequest, request);
  const [[position], rows] = await query(ctx, 'nothing_written', (db) =>
    db.batch([
      findCursorPosition(db, organizationId, 0),
      findRecordPage(db, type, { organizationId, after: cursor ?? '', limit }),
    ]),
  );
  requireValidCursor(position, organizationId, null);
  return {
    records: rows.map(({ id, record }) => parseStored(recordShape, record, `the stored ${type} ${id}`)),
    cursor: rows.at(-1)?.id ?? cursor,
    more: rows.length === limit,
  };
}
