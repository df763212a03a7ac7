import * as z from 'zod';
import { DEACTIVATE_RECORDS, FIND_RECORDS } from '../../db/directory/records.ts';
import { batch } from '../../db/statement.ts';
import { conflicts, DIRECTORY_TYPES, type DirectoryError, directoryId, readRecord } from '../../domain/directory.ts';
import { ruleError, strictObject } from '../../domain/fields.ts';
import type { DeactivatedRecord, Upserted } from '../../domain/psa-shapes.ts';
import { callD1 } from '../call-d1.ts';
import { parseInput } from '../parse-input.ts';
import type { DirectoryContext } from '../service-context.ts';
import {
  advanceClock,
  findConflicts,
  findDifferences,
  isOlderMessage,
  superseded,
  writeRecords,
} from './differences.ts';

/** The most records in one call. */
export const MAX_RECORDS = 1_000;

const listOf = <Item extends z.ZodType>(item: Item, what: string) =>
  z
    .array(item, { error: ruleError(`an array of ${what}`) })
    .max(MAX_RECORDS, { error: `has too many ${what}; send at most ${MAX_RECORDS} at a time` });

/** The input of `upsertRecords`. */
export const upsertRequest = strictObject({
  organization: directoryId('an organization'),
  records: listOf(z.unknown(), 'records'),
});

/**
 * Creates or changes records of one organization, in the format of a directory file: all of them in
 * one transaction, or none if one breaks a rule. Sending the same records again changes nothing.
 * @throws ServiceError `invalid`, `superseded` (a newer signed message was applied), `being_erased`
 */
export async function upsertRecords(ctx: DirectoryContext, request: z.input<typeof upsertRequest>): Promise<Upserted> {
  const { organization, records } = parseInput(upsertRequest, request);
  if (records.length === 0) return { written: true, records: [] };
  const read = records.map((value, index) => readRecord(value, index));
  const errors: DirectoryError[] = read.flatMap(({ errors }) => errors);
  for (const { entry, organization: owner } of read) {
    if (entry && owner !== organization) {
      const pointer = entry.type === 'organization' ? '/id' : '/organization';
      const detail = `the record belongs to organization ${owner}, but this call is for ${organization}`;
      errors.push({ at: entry.at, subject: `${entry.type} ${entry.id}`, pointer, code: 'other_organization', detail });
    }
  }
  const entries = read.flatMap(({ entry, organization: owner }) => (entry && owner === organization ? entry : []));
  errors.push(...conflicts(entries, (index) => `in records[${index}]`));
  errors.push(...(await findConflicts(ctx, organization, entries)));
  if (errors.length > 0) {
    const broken = Map.groupBy(errors, ({ at }) => at);
    const refused = (found: DirectoryError[]) => found.map(({ pointer, code, detail }) => ({ pointer, code, detail }));
    return {
      written: false,
      records: records.map((_, index) => {
        const found = broken.get(index);
        return found ? { status: 'refused', errors: refused(found) } : { status: 'not_written' };
      }),
    };
  }
  const differences = await findDifferences(ctx, organization, entries);
  // All of them, also if nothing differs: an older change may be committed in between, and one that
  // arrives later must not apply.
  await writeRecords(ctx, organization, entries, ctx.message);
  const statuses = new Map(
    differences.map(({ type, id, before }) => [`${type} ${id}`, before ? 'changed' : 'created'] as const),
  );
  return {
    written: true,
    records: entries.map(({ type, id }) => ({ status: statuses.get(`${type} ${id}`) ?? 'unchanged' })),
  };
}

const recordReference = strictObject({
  type: z.enum(DIRECTORY_TYPES, { error: ruleError(`one of ${DIRECTORY_TYPES.join(', ')}`) }),
  id: directoryId('the record'),
});
/** The input of `deactivateRecords`. */
export const deactivateRequest = strictObject({
  organization: directoryId('an organization'),
  records: listOf(recordReference, 'records'),
});

export type RecordReference = z.output<typeof recordReference>;

/**
 * Deactivates records of one organization, in one transaction. Nothing is deleted: what was written
 * on a ticket stays.
 * @throws ServiceError `invalid`, `superseded`, `being_erased`
 */
export async function deactivateRecords(
  ctx: DirectoryContext,
  request: { organization: string; records: RecordReference[] },
): Promise<{ records: DeactivatedRecord[] }> {
  const { organization, records } = parseInput(deactivateRequest, request);
  const types = DIRECTORY_TYPES.filter((type) => records.some((reference) => reference.type === type));
  if (types.length === 0) return { records: [] };
  const statements = types.map((type) => {
    const ids = records.filter((reference) => reference.type === type).map(({ id }) => id);
    const values = { organizationId: organization, json: JSON.stringify(ids) };
    return { type, deactivate: DEACTIVATE_RECORDS[type].bind(values), find: FIND_RECORDS[type].bind(values) };
  });
  const [, ...results] = await callD1(ctx, 'safe_to_repeat', (db) =>
    batch<{ id: string; active?: number }[]>(db, [
      advanceClock(organization, ctx.message),
      ...statements.flatMap(({ deactivate, find }) => [deactivate, find]),
    ]),
  ).catch((err: unknown) => {
    throw isOlderMessage(err) ? superseded(organization) : err;
  });
  const statusOf = ({ type, id }: RecordReference): DeactivatedRecord['status'] => {
    const [changed, found] = [0, 1].map((offset) =>
      results[2 * types.indexOf(type) + offset]?.results.find((row) => row.id === id),
    );
    if (changed) return 'deactivated';
    if (!found) return 'not_found';
    return found.active === 1 ? 'service_account' : 'unchanged';
  };
  return { records: records.map((reference) => ({ status: statusOf(reference) })) };
}
