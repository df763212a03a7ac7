import { columns, number, type RowOf } from '../statement.ts';
import { ALL_RECORDS } from './key-days.ts';

// The daily limits in the statements of a write. They need the key `k`, the latest audit row `p` and
// the parameters of `InsertValues`.

/**
 * What the organization has written on `:day`: the total on the latest audit row, if that is of this
 * day. If it is of a later day, the ledger's sum, which reads the organization's keys: only after a
 * change of the time zone, or for a write that took long at midnight.
 */
const ofOrganization = (total: 'day_records' | 'day_bytes', counted: string) => `case
      when :day = p.day then p.${total}
      when :day < p.day then (
        select coalesce(sum(${counted}), 0) from api_keys h
        cross join key_days on key_days.organization_id = h.organization_id
          and key_days.chain_id = h.chain_id and key_days.day = :day
        where h.organization_id = :organizationId and h.id = h.chain_id)
      else 0 end`;
const ORGANIZATION_RECORDS = ofOrganization('day_records', ALL_RECORDS);
const ORGANIZATION_BYTES = ofOrganization('day_bytes', 'bytes');

/** The record fits into the daily limits. Compared in the write's transaction, so the limits are exact. */
export const WITHIN_DAY_LIMITS = `(
      select (:keyDayRecords is null or coalesce(sum(${ALL_RECORDS}), 0) + 1 <= :keyDayRecords)
        and (k.day_limit_records is null or coalesce(sum(${ALL_RECORDS}), 0) + 1 <= k.day_limit_records)
        and (:keyDayBytes is null or coalesce(sum(bytes), 0) + :bytes <= :keyDayBytes)
        and (:minutes = 0 or (k.day_limit_minutes is null or coalesce(sum(minutes), 0) + :minutes <= k.day_limit_minutes))
      from key_days where organization_id = :organizationId and chain_id = :chainId and day = :day)
    and (:organizationDayRecords is null or ${ORGANIZATION_RECORDS} + 1 <= :organizationDayRecords)
    and (:organizationDayBytes is null or ${ORGANIZATION_BYTES} + :bytes <= :organizationDayBytes)`;

/** The writes of a key's chain (its sums are `used`) and of its organization on a day. */
const WRITTEN = {
  chainRecords: number('used.records'),
  chainMinutes: number('used.minutes'),
  chainBytes: number('used.bytes'),
  organizationRecords: number(ORGANIZATION_RECORDS),
  organizationBytes: number(ORGANIZATION_BYTES),
};

export type WrittenOfDay = RowOf<typeof WRITTEN>;

export const WRITTEN_OF_DAY = columns(WRITTEN);
