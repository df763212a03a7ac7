import { type CountedUse, KEPT_LOST_WRITES, type RefusedUseReason } from '../../domain/refused-use.ts';
import { IS_BEING_ERASED } from '../directory/erasure.ts';
import { columns, insertInto, number, type RowOf, statement, text, textOrNull } from '../statement.ts';

interface RefusedUseValues {
  organizationId: string;
  keyId: string;
  reason: CountedUse;
  count: number;
  now: number;
  sourceAddress: string | null;
  /** A JSON array, latest first, or null for none. */
  lostWrites: string | null;
}

/** Adds to the count of a key and reason. Not during an erasure: a new row would stop the removal of its key. */
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
  })}
  from api_keys k where k.organization_id = :organizationId and k.id = :keyId and not ${IS_BEING_ERASED}
  on conflict (organization_id, key_id, reason) do update set
    count = refused_uses.count + excluded.count,
    last_at = max(refused_uses.last_at, excluded.last_at),
    source_address = excluded.source_address,
    lost_writes = iif(excluded.lost_writes is null, refused_uses.lost_writes, (
      select json_group_array(json(value)) from (
        select 0 as age, key, value from json_each(excluded.lost_writes)
        union all select 1, key, value from json_each(coalesce(refused_uses.lost_writes, '[]'))
        order by age, key limit ${KEPT_LOST_WRITES})))`);

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
};

export type RefusedUseRow = RowOf<typeof REFUSED_USE>;
export type CountedUseRow = Omit<RefusedUseRow, 'reason'> & { reason: CountedUse };

const COUNTED_USES = `
  select ${columns(REFUSED_USE)}
  from refused_uses r cross join api_keys k on k.organization_id = r.organization_id and k.id = r.key_id
  where r.organization_id = :organizationId`;
const REFUSED_USES = `${COUNTED_USES} and r.reason <> 'dry_run'`;

/** The refused uses of a key, and its dry runs. */
export const findUsesOfKey = statement<{ organizationId: string; keyId: string }, CountedUseRow>(
  `${COUNTED_USES} and r.key_id = :keyId order by r.last_at desc`,
);

export const findRefusedUses = statement<{ organizationId: string; limit: number }, RefusedUseRow>(
  `${REFUSED_USES} order by r.last_at desc limit :limit`,
);

/** Refused uses, newest keys first: this order does not change while an export reads it. */
export const findRefusedUsesPage = statement<
  { organizationId: string; beforeKeyId: string; beforeReason: string; limit: number },
  RefusedUseRow
>(
  `${REFUSED_USES} and (r.key_id, r.reason) < (:beforeKeyId, :beforeReason)
    order by r.key_id desc, r.reason desc limit :limit`,
);

/** Condition and order: the organization's latest refused uses since an instant. */
export const RECENT_USES =
  'organization_id = :organizationId and last_at >= :since order by last_at desc limit :examine';

/** Removes the source addresses of at most `limit` uses before an instant, of all organizations. */
export const forgetAddresses = statement<{ before: number; limit: number }>(`
  update refused_uses set source_address = null where (organization_id, key_id, reason) in (
    select organization_id, key_id, reason from refused_uses
    where last_at < :before and source_address is not null order by last_at limit :limit)`);
