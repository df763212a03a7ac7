import type { PastedKey } from '../../domain/api-key.ts';
import { KEY_SETTING_NAMES, type KeySettings, keySetting } from '../../domain/key-settings.ts';
import { fromKeys } from '../../lib/objects.ts';
import { columns, number, numberOrNull, type RowOf, statement, text, textOrNull } from '../statement.ts';

// What administrators and operators see of keys. The last write of a key comes from the daily ledger: after a change of
// the time zone, the latest of its days need not be the one of its last write, so three days are compared.

const SETTINGS = fromKeys(KEY_SETTING_NAMES, (name) => `k.${keySetting(name).column}`);

/** A key `k` as the settings area shows it, after its id and settings, with these joins. Flags are 0 or 1. */
const DETAIL_COLUMNS = {
  hint: text('k.hint'),
  scopes: text('k.scopes'),
  /** Counts the changes of its settings, its rotation and its revocation. */
  revision: number('k.revision'),
  createdAt: number('k.created_at'),
  expiresAt: numberOrNull('k.expires_at'),
  revokedAt: numberOrNull('k.revoked_at'),
  /** The id of the user who revoked the key, or a description of the operator. */
  revokedById: textOrNull('k.revoked_by'),
  revokedBy: textOrNull('revoker.name'),
  createdById: text('k.created_by'),
  createdBy: text('creator.name'),
  creatorActive: number('creator.active'),
  creatorAdmin: number('creator.is_admin'),
  // The other keys of a rotation; all null if there are none.
  successorId: textOrNull('s.id'),
  successorHint: textOrNull('s.hint'),
  predecessorId: textOrNull('p.id'),
  predecessorHint: textOrNull('p.hint'),
  lastWriteAt: numberOrNull('d.last_at'),
  lastWriteFrom: textOrNull('d.last_address'),
};

export type KeyDetailsRow = { id: string } & KeySettings & RowOf<typeof DETAIL_COLUMNS>;

const KEY_JOINS = `
  join users creator on creator.organization_id = k.organization_id and creator.id = k.created_by
  left join users revoker on revoker.organization_id = k.organization_id and revoker.id = k.revoked_by
  left join api_keys s on s.organization_id = k.organization_id and s.id = k.successor_id
  left join api_keys p on p.organization_id = k.organization_id and p.successor_id = k.id
  left join key_days d on d.organization_id = k.organization_id and d.chain_id = k.chain_id and d.key_id = k.id
    and d.day = (select w.day from (
      select day, last_seq from key_days where organization_id = k.organization_id and chain_id = k.chain_id
        and key_id = k.id order by day desc limit 3) w order by w.last_seq desc limit 1)`;
const KEY_DETAILS = `
  select k.id as id, ${columns(SETTINGS)}, ${columns(DETAIL_COLUMNS)}
  from api_keys k${KEY_JOINS}
  where k.organization_id = :organizationId`;

export const findKeyDetails = statement<{ organizationId: string; keyId: string }, KeyDetailsRow>(
  `${KEY_DETAILS} and k.id = :keyId`,
);

/** The ids of live keys. Two ranges of a named index: otherwise SQLite would read all keys of the organization. */
export function liveKeyIds(organizationId: string): string {
  const unrevoked = (expiry: string) =>
    `select id from api_keys indexed by api_keys_unrevoked where organization_id = ${organizationId} and revoked_at is null and expires_at ${expiry}`;
  return `${unrevoked('is null')} union all ${unrevoked('> :now')}`;
}

export const LIVE_KEY_IDS = liveKeyIds(':organizationId');

/** The live keys, by name: at most `MAX_LIVE_KEYS`, and `MAX_KEYS_IN_GRACE` in their grace period. */
export const findLiveKeys = statement<{ organizationId: string; now: number }, KeyDetailsRow>(
  `${KEY_DETAILS} and k.id in (${LIVE_KEY_IDS})
  order by k.name, k.id desc`,
);

/** The keys of a JSON array of ids, by name. */
export const findKeys = statement<{ organizationId: string; keyIds: string }, KeyDetailsRow>(
  `${KEY_DETAILS} and k.id in (select value from json_each(:keyIds)) order by k.name, k.id desc`,
);

const LIVE_KEYS_OF = {
  organizationId: text('i.value'),
  keys: number(`(select count(*) from (${liveKeyIds('i.value')}))`),
};

/** How many live keys each of these organizations (a JSON array of ids) has. */
export const countLiveKeysOf = statement<{ organizationIds: string; now: number }, RowOf<typeof LIVE_KEYS_OF>>(`
  select ${columns(LIVE_KEYS_OF)} from json_each(:organizationIds) i`);

/** A page of all keys created before the key with the id `before`, newest first. */
export const findKeyPage = statement<{ organizationId: string; before: string; limit: number }, KeyDetailsRow>(
  `${KEY_DETAILS} and k.id < :before order by k.id desc limit :limit`,
);

const REFERENCED = 'api_keys k indexed by api_keys_hint where k.hint = :hint and k.hash = coalesce(:hash, k.hash)';

export const findOwnKeys = statement<PastedKey & { organizationId: string }, KeyDetailsRow>(
  `${KEY_DETAILS} and k.id in (select k.id from ${REFERENCED} and k.organization_id = :organizationId)
  order by k.id desc limit 10`,
);

const KEY_ID = { organization: text('k.organization_id'), key: text('k.id') };

/** The cross join makes SQLite search the index once per organization. */
export const findAnyKeys = statement<PastedKey, RowOf<typeof KEY_ID>>(`
  select ${columns(KEY_ID)} from organizations o cross join ${REFERENCED} and k.organization_id = o.id
  order by k.id limit 100`);
