import { KEY_DETAILS, type KeyDetailsRow, LIVE_KEY_IDS } from '../../db/keys/read-keys.ts';
import { columns, statement } from '../../db/statement.ts';
import { ALL_RECORDS, type ChainDay, sum } from '../../db/work/key-days.ts';
import { KEYS_NEAR_EXPIRY } from './rounds.ts';

/** The keys that came closer to their expiry than one of `days` (a JSON array), since `since`. */
export const findKeysNearExpiry = statement<
  { organizationId: string; since: number; now: number; days: string },
  KeyDetailsRow
>(`${KEY_DETAILS} and k.id in (${KEYS_NEAR_EXPIRY}) order by k.expires_at, k.id`);

/** A live key without a successor, and what its chain has written on one day. */
export interface KeyDayUseRow extends ChainDay {
  id: string;
  name: string;
  hint: string;
  expiresAt: number | null;
  dayLimitRecords: number | null;
  dayLimitMinutes: number | null;
}

/** What the chain of each live key has written on `day`, if it wrote anything. */
export const findKeyDayUses = statement<{ organizationId: string; now: number; day: string }, KeyDayUseRow>(`
  select ${columns<KeyDayUseRow>({
    id: 'k.id',
    name: 'k.name',
    hint: 'k.hint',
    expiresAt: 'k.expires_at',
    dayLimitRecords: 'k.day_limit_records',
    dayLimitMinutes: 'k.day_limit_minutes',
    records: sum(ALL_RECORDS),
    minutes: sum('d.minutes'),
    bytes: sum('d.bytes'),
  })}
  from api_keys k cross join key_days d
    on d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.day = :day
  where k.organization_id = :organizationId and k.id in (${LIVE_KEY_IDS}) and k.successor_id is null
  group by k.id order by k.name, k.id`);
