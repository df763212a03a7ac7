import { MAX_KEYS_IN_GRACE } from '../../domain/key-input.ts';
import { type AdministratorValues, BY_ACTIVE_ADMINISTRATOR } from '../directory/administrator-statements.ts';
import { insertInto, statement } from '../statement.ts';
import { type KeyValues, NEW_KEY, settingColumns } from './create-key-statements.ts';
import { IS_CURRENT, IS_UNEXPIRED, keyIdWhere, THE_KEY } from './key-conditions.ts';
import { ADMITTED_BY_RULES, EXPIRY_RULES, type ExpiryRulesRow } from './key-rules-statements.ts';

// A rotation makes up to three changes in one transaction, each with its audit row: it marks the old key, inserts the
// successor and revokes the old key. The second and third run only if the previous one changed a row.

const CREATED_BY_FORM = keyIdWhere('api_keys.form_token = :formToken');

const KEYS_IN_GRACE = `(select count(*) from api_keys replaced where replaced.organization_id = :organizationId
    and replaced.revoked_at is null and replaced.expires_at > :now and replaced.successor_id is not null)`;

/**
 * Names the successor of a live key that has none. The key then ends at `endsAt` or at its own expiry, whichever is
 * earlier. A key that ends immediately (`endsAt` is now) can always be replaced; another one only while there is room for
 * one more in its grace period. The key rules have to admit the successor with its lifetime of `lifetimeDays`.
 */
export const markSucceeded = statement<
  AdministratorValues & {
    keyId: string;
    id: string;
    now: number;
    endsAt: number;
    formToken: string | null;
    lifetimeDays: number | null;
  }
>(`
  update api_keys set successor_id = :id, expires_at = min(coalesce(expires_at, :endsAt), :endsAt), revision = revision + 1
  where ${THE_KEY} and ${IS_CURRENT} and ${IS_UNEXPIRED} and ${BY_ACTIVE_ADMINISTRATOR} and ${CREATED_BY_FORM} is null
    and (:endsAt <= :now or ${KEYS_IN_GRACE} < ${MAX_KEYS_IN_GRACE}) and ${ADMITTED_BY_RULES}`);

/** Inserts the successor of the key that names it, with the same chain, scopes and settings. */
export const insertSuccessor = statement<KeyValues>(`
  ${insertInto('api_keys', {
    ...NEW_KEY,
    chain_id: 'k.chain_id',
    scopes: 'k.scopes',
    ...settingColumns((_, column) => `k.${column}`),
  })}
  from api_keys k where k.organization_id = :organizationId and k.successor_id = :id and changes() = 1`);

export const revokeSucceeded = statement<AdministratorValues & { id: string; now: number }>(`
  update api_keys set revoked_at = :now, revoked_by = :userId, revision = revision + 1
  where organization_id = :organizationId and successor_id = :id and changes() = 1`);

export interface RotationExplanation extends ExpiryRulesRow {
  administrator: number;
  exists: string | null;
  successorId: string | null;
  createdByForm: string | null;
  keysInGrace: number;
  live: number;
}

export const explainRotation = statement<
  AdministratorValues & { keyId: string; formToken: string; now: number },
  RotationExplanation
>(`
  select ${BY_ACTIVE_ADMINISTRATOR} as administrator, api_keys.id as "exists", api_keys.successor_id as successorId,
    ${CREATED_BY_FORM} as createdByForm, ${KEYS_IN_GRACE} as keysInGrace, ${EXPIRY_RULES},
    api_keys.revoked_at is null and ${IS_UNEXPIRED} as live
  from organizations o left join api_keys on ${THE_KEY} where o.id = :organizationId`);
