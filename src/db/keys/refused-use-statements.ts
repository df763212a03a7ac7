import {
  KEPT_LOST_WRITES,
  REASONS_FOR_ATTENTION,
  REFUSED_ATTENTION_MS,
  type RefusedUseReason,
} from '../../domain/refused-use.ts';
import { IS_BEING_ERASED } from '../directory/erasure.ts';
import { columns, insertInto, number, numberOrNull, type RowOf, statement, text, textOrNull } from '../statement.ts';

interface RefusedUseValues {
  organizationId: string;
  keyId: string;
  reason: RefusedUseReason;
  count: number;
  now: number;
  sourceAddress: string | null;
  /** A JSON array, latest first, or null for none. */
  lostWrites: string | null;
  endsAt: number | null;
}

/** Condition: what was counted has ended. */
const HAS_ENDED = 'refused_uses.ends_at <= :now';

/**
 * Adds to the count of a key and reason, or starts a new count if what was counted has ended. Not during an erasure: a
 * new row would stop the removal of its key.
 */
export const addRefusedUses = statement<RefusedUseValues>(`
  ${insertInto('refused_uses', {
    organization_id: 'k.organization_id',
    key_id: 'k.id',
    reason: ':reason',
    count: ':count',
    first_at: ':now',
    last_at: ':now',
    source_address: ':sourceAddress',
    lost_writes: ':lostWrites',
    ends_at: ':endsAt',
  })}
  from api_keys k where k.organization_id = :organizationId and k.id = :keyId and not ${IS_BEING_ERASED}
  on conflict (organization_id, key_id, reason) do update set
    count = iif(${HAS_ENDED}, 0, refused_uses.count) + excluded.count,
    first_at = iif(${HAS_ENDED}, excluded.first_at, refused_uses.first_at),
    ends_at = excluded.ends_at,
    last_at = max(refused_uses.last_at, excluded.last_at),
    source_address = excluded.source_address,
    lost_writes = iif(excluded.lost_writes is null, iif(${HAS_ENDED}, null, refused_uses.lost_writes), (
      select json_group_array(json(value)) from (
        select 0 as age, key, value from json_each(excluded.lost_writes)
        union all select 1, key, value from json_each(iif(${HAS_ENDED}, '[]', coalesce(refused_uses.lost_writes, '[]')))
        order by age, key limit ${KEPT_LOST_WRITES})))`);

/**
 * Condition: the refused uses `r` of the key `k` need attention. The holder of a key does not end them by writing, except
 * for a daily limit: a stolen key is refused from elsewhere while the automation continues. A rotation ends only a use from elsewhere, because the
 * successor has the same scopes and limits. Lost writes stay lost.
 */
export const NEEDS_ATTENTION = `r.reason in (${REASONS_FOR_ATTENTION.map((reason) => `'${reason}'`).join(', ')})
    and r.last_at >= :now - ${REFUSED_ATTENTION_MS} and (r.ends_at is null or r.ends_at > :now)
    and (r.reason = 'idempotency_mismatch' or ((k.revoked_at is null or r.reason = 'revoked')
      and (k.successor_id is null or r.reason <> 'address_not_allowed' or r.last_at > (
        select s.created_at from api_keys s where s.organization_id = k.organization_id and s.id = k.successor_id))
      and (r.reason <> 'daily_limit_reached' or not exists (
        select 1 from key_days d where d.organization_id = k.organization_id and d.chain_id = k.chain_id
          and d.day >= date(r.last_at / 1000, 'unixepoch', '-1 day')
          and d.last_at > r.last_at))))`;

/** Refused uses of one key for one reason, with the key. Times are UTC milliseconds. */
const REFUSED_USE = {
  keyId: text('r.key_id'),
  keyName: text('k.name'),
  keyHint: text('k.hint'),
  reason: text<RefusedUseReason>('r.reason'),
  count: number('r.count'),
  firstAt: number('r.first_at'),
  lastAt: number('r.last_at'),
  sourceAddress: textOrNull('r.source_address'),
  /** A JSON array, latest first. */
  lostWrites: textOrNull('r.lost_writes'),
  /** From when on they need no attention; null if that is not known. */
  endsAt: numberOrNull('r.ends_at'),
  // In a CASE, SQLite evaluates only the conditions that decide.
  needsAttention: number(`iif(${NEEDS_ATTENTION}, 1, 0)`),
};

export type RefusedUseRow = RowOf<typeof REFUSED_USE>;

const REFUSED_USES = `
  select ${columns(REFUSED_USE)}
  from refused_uses r cross join api_keys k on k.organization_id = r.organization_id and k.id = r.key_id
  where r.organization_id = :organizationId`;

export const findUsesOfKey = statement<{ organizationId: string; keyId: string; now: number }, RefusedUseRow>(
  `${REFUSED_USES} and r.key_id = :keyId order by r.last_at desc`,
);

export const findRefusedUses = statement<{ organizationId: string; limit: number; now: number }, RefusedUseRow>(
  `${REFUSED_USES} order by r.last_at desc limit :limit`,
);

/** Refused uses, newest keys first: this order does not change while an export reads it. */
export const findRefusedUsesPage = statement<
  { organizationId: string; beforeKeyId: string; beforeReason: string; limit: number; now: number },
  RefusedUseRow
>(
  `${REFUSED_USES} and (r.key_id, r.reason) < (:beforeKeyId, :beforeReason)
    order by r.key_id desc, r.reason desc limit :limit`,
);

/** Removes the source addresses of at most `limit` uses before an instant, of all organizations. */
export const forgetAddresses = statement<{ before: number; limit: number }>(`
  update refused_uses set source_address = null where (organization_id, key_id, reason) in (
    select organization_id, key_id, reason from refused_uses
    where last_at < :before and source_address is not null order by last_at limit :limit)`);
