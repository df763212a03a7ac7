import * as z from 'zod';
import { callD1 } from '../../db/client.ts';
import { deactivateRecords, findRecords } from '../../db/directory/records.ts';
import {
  conflicts,
  DIRECTORY_TYPES,
  type DirectoryError,
  type DirectoryRecordInput,
  directoryId,
  readRecord,
} from '../../domain/directory.ts';
import { type FieldError, record, says } from '../../domain/fields.ts';
import type { SystemContext } from '../context.ts';
import { findChanges, findObstacles, writeChanges } from './differences.ts';
import { repeatable } from '../repeatable.ts';
import { validated } from '../parse-input.ts';

/** Most records of one call. */
export const MAX_RECORDS = 1_000;

/** What became of one record, in the place where it stood. `not_written`: it is right, but another one is not. */
export type UpsertedRecord = { status: 'created' | 'changed' | 'unchanged' | 'not_written' } | { status: 'refused'; errors: FieldError[] };

export interface Upserted {
  /** Whether the records were written: all of them, or none. */
  written: boolean;
  records: UpsertedRecord[];
}

const listOf = <Item extends z.ZodType>(item: Item, what: string) =>
  z
    .array(item, { error: says(`a list of ${what}`) })
    .max(MAX_RECORDS, { error: `holds too many ${what}; send at most ${MAX_RECORDS} at a time` });

const upsertRequest = record({ organization: directoryId('an organization'), records: listOf(z.unknown(), 'records') });

/**
 * Creates or changes records of one organization, given as in a directory file: all of them in one transaction, or none if one of them
 * breaks a rule. Saying the same again changes nothing.
 * @throws Invalid naming the argument, Refusal `unavailable`
 */
export async function upsertRecords(
  ctx: SystemContext,
  request: { organization: string; records: DirectoryRecordInput[] },
): Promise<Upserted> {
  const { organization, records } = validated(upsertRequest, request);
  const read = records.map((value, index) => readRecord(value, index));
  const errors: DirectoryError[] = read.flatMap(({ errors }) => errors);
  for (const { entry, organization: owner } of read) {
    if (entry && owner !== organization) {
      const pointer = entry.type === 'organization' ? '/id' : '/organization';
      const detail = `the record belongs to organization ${owner}, but this call is about ${organization}`;
      errors.push({ at: entry.at, subject: `${entry.type} ${entry.id}`, pointer, code: 'other_organization', detail });
    }
  }
  const entries = read.flatMap(({ entry, organization: owner }) => (entry && owner === organization ? entry : []));
  errors.push(...conflicts(entries, (index) => `in records[${index}]`));
  return repeatable(async () => {
    errors.push(...(await findObstacles(ctx.db, organization, entries)));
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
    const changes = await findChanges(ctx.db, organization, entries);
    if (changes.length > 0) await writeChanges(ctx.db, organization, entries, changes);
    const statuses = new Map(changes.map(({ type, id, before }) => [`${type} ${id}`, before ? 'changed' : 'created'] as const));
    return { written: true, records: entries.map(({ type, id }) => ({ status: statuses.get(`${type} ${id}`) ?? 'unchanged' })) };
  });
}

const recordReference = record({
  type: z.enum(DIRECTORY_TYPES, { error: says(`one of ${DIRECTORY_TYPES.join(', ')}`) }),
  id: directoryId('the record'),
});
const deactivateRequest = record({ organization: directoryId('an organization'), records: listOf(recordReference, 'records') });

export type RecordReference = z.output<typeof recordReference>;

/** What became of a record that was to be deactivated. `service_account`: it stays active until another user is made the service account. */
export type DeactivatedRecord = { status: 'deactivated' | 'unchanged' | 'not_found' | 'service_account' };

/**
 * Deactivates records of one organization, in one transaction. Nothing is ever deleted: what was written on a ticket stays.
 * @throws Invalid naming the argument, Refusal `unavailable`
 */
export async function deactivate(
  ctx: SystemContext,
  request: { organization: string; records: RecordReference[] },
): Promise<{ records: DeactivatedRecord[] }> {
  const { organization, records } = validated(deactivateRequest, request);
  const types = DIRECTORY_TYPES.filter((type) => records.some((reference) => reference.type === type));
  if (types.length === 0) return { records: [] };
  const statements = types.flatMap((type) => {
    const ids = JSON.stringify(records.filter((reference) => reference.type === type).map(({ id }) => id));
    return [deactivateRecords(type), findRecords(type)].map((sql) => ctx.db.prepare(sql).bind(organization, ids));
  });
  const results = await repeatable(() => callD1(ctx, () => ctx.db.batch<{ id: string; active?: number }>(statements)));
  const statusOf = ({ type, id }: RecordReference): DeactivatedRecord['status'] => {
    const [changed, found] = [0, 1].map((offset) => results[2 * types.indexOf(type) + offset]?.results.find((row) => row.id === id));
    if (changed) return 'deactivated';
    if (!found) return 'not_found';
    return found.active === 1 ? 'service_account' : 'unchanged';
  };
  return { records: records.map((reference) => ({ status: statusOf(reference) })) };
}
