import * as z from 'zod/mini';
import { findClock } from '../../db/directory/clock.ts';
import { deactivateRecords as deactivate, findRecords } from '../../db/directory/records.ts';
import { instant } from '../../domain/change.ts';
import { conflicts, DIRECTORY_TYPES, type DirectoryError, directoryId, readRecord } from '../../domain/directory.ts';
import { ServiceError } from '../../domain/errors.ts';
import { flag, lazyObject, ruleError } from '../../domain/fields.ts';
import type { DeactivatedRecord, Upserted } from '../../domain/psa-shapes.ts';
import { D1Failure, OLDER_MESSAGE, query, sendBatch } from '../call-d1.ts';
import { parseInput } from '../parse-input.ts';
import type { DirectoryContext } from '../service-context.ts';
import { advanceClock, findConflicts, findDifferences, withoutRefused, writeRecords } from './differences.ts';

export const MAX_RECORDS = 1_000;

const listOf = <Item extends z.ZodMiniType>(item: Item, what: string) =>
  z
    .array(item, { error: ruleError(`an array of ${what}`) })
    .check(z.maxLength(MAX_RECORDS, { error: `has too many ${what}; send at most ${MAX_RECORDS} at a time` }));

export const upsertRequest = lazyObject(() => ({
  organization: directoryId('an organization'),
  records: listOf(z.unknown(), 'records'),
  allOrNothing: z._default(flag(), false),
  recreate: z._default(flag(), false),
}));

/**
 * Creates or changes records of one organization, in the format of a directory file: in one
 * transaction those that break no rule, or with `allOrNothing` none if one breaks a rule. Sending the
 * same records again changes nothing.
 * @throws ServiceError `invalid`, `superseded` (a newer signed message was applied), `being_erased`,
 *   `organization_erased` (without `recreate`)
 */
export async function upsertRecords(ctx: DirectoryContext, request: z.input<typeof upsertRequest>): Promise<Upserted> {
  const { organization, records, allOrNothing, recreate } = parseInput(upsertRequest, request);
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
  const examined = allOrNothing ? entries : withoutRefused(entries, errors);
  errors.push(...(await findConflicts(ctx, organization, examined, { isPartial: !allOrNothing, recreate })));
  const written = allOrNothing && errors.length > 0 ? [] : withoutRefused(examined, errors);
  const statuses = new Map<number, 'unchanged' | 'created' | 'changed'>();
  if (written.length > 0) {
    const differences = await findDifferences(ctx, organization, written);
    // All of them, even if nothing differs: an older change may be committed in between, and one that
    // arrives later must not apply.
    const recreatedBy = recreate ? ctx.actor : undefined;
    await writeRecords(ctx, organization, written, { message: ctx.message, recreatedBy }).catch((err: unknown) =>
      refuse(ctx, organization, err),
    );
    const changes = new Map(differences.map(({ type, id, status }) => [`${type} ${id}`, status]));
    for (const { at, type, id } of written) statuses.set(at, changes.get(`${type} ${id}`) ?? 'unchanged');
  }
  const refused = Map.groupBy(errors, ({ at }) => at);
  return {
    written: errors.length === 0,
    records: records.map((_, at) => {
      const found = refused.get(at)?.map(({ pointer, code, detail }) => ({ pointer, code, detail }));
      return found ? { status: 'refused', errors: found } : { status: statuses.get(at) ?? 'not_written' };
    }),
  };
}

const recordReference = lazyObject(() => ({
  type: z.enum(DIRECTORY_TYPES, { error: ruleError(`one of ${DIRECTORY_TYPES.join(', ')}`) }),
  id: directoryId('the record'),
}));
export const deactivateRequest = lazyObject(() => ({
  organization: directoryId('an organization'),
  records: listOf(recordReference, 'records'),
}));

export type RecordReference = z.output<typeof recordReference>;

/**
 * Deactivates records of one organization, in one transaction. Nothing is deleted: what was written
 * on a ticket stays.
 * @throws ServiceError `invalid`, `superseded`, `being_erased`, `organization_erased`
 */
export async function deactivateRecords(
  ctx: DirectoryContext,
  request: { organization: string; records: RecordReference[] },
): Promise<{ records: DeactivatedRecord[] }> {
  const { organization, records } = parseInput(deactivateRequest, request);
  const types = DIRECTORY_TYPES.filter((type) => records.some((reference) => reference.type === type));
  if (types.length === 0) return { records: [] };
  const changes = types.map((type) => {
    const ids = records.filter((reference) => reference.type === type).map(({ id }) => id);
    const values = { organizationId: organization, json: JSON.stringify(ids) };
    return { type, values };
  });
  const [, ...results] = await sendBatch(ctx, 'safe_to_repeat', (db) => [
    advanceClock(db, organization, ctx.message),
    ...changes.flatMap(({ type, values }) => [deactivate(type)(db, values), findRecords(type)(db, values)]),
  ]).catch((err: unknown) => refuse(ctx, organization, err));
  const statusOf = ({ type, id }: RecordReference): DeactivatedRecord['status'] => {
    const [changed, found] = [0, 1].map((offset) =>
      results[2 * types.indexOf(type) + offset]?.results.find((row) => row.id === id),
    );
    if (changed) return 'deactivated';
    if (!found) return 'not_found';
    return found.found === '1' ? 'service_account' : 'unchanged';
  };
  return { records: records.map((reference) => ({ status: statusOf(reference) })) };
}

/**
 * Explains why the database refused a change.
 * @throws ServiceError `superseded` if a newer message was applied; otherwise what it was given
 */
async function refuse(ctx: DirectoryContext, organizationId: string, err: unknown): Promise<never> {
  if (!(err instanceof D1Failure && err.reason === OLDER_MESSAGE)) throw err;
  const [clock] = await query(ctx, 'safe_to_repeat', (db) => findClock(db, organizationId));
  const now = ctx.now();
  const newest = clock?.at ?? now;
  const retryAfter = Math.max(1, Math.ceil((newest - now) / 1000));
  const detail = `A newer change of the directory of ${organizationId}, dated ${instant(newest)}, was applied, so this one was not. If it still applies, read the state of your system again, and sign a message with the current time in ${retryAfter} s or later.`;
  const fields = { newestAt: instant(newest), serverTime: instant(now), retryAfter };
  throw new ServiceError('superseded', detail, { fields });
}
