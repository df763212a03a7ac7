import { type AdministratorValues, BY_ACTIVE_ADMINISTRATOR } from '../directory/administrator-statements.ts';
import { statement } from '../statement.ts';
import { THE_KEY } from './key-conditions.ts';
import { LIVE_KEY_IDS } from './read-keys-statements.ts';

interface Revocation {
  revokedAt: number;
}

/** Revokes a key that is not revoked yet, if the user is an active administrator. */
export const markRevokedByAdministrator = statement<AdministratorValues & { keyId: string; now: number }, Revocation>(`
  update api_keys set revoked_at = :now, revoked_by = :userId, revision = revision + 1
  where ${THE_KEY} and revoked_at is null and ${BY_ACTIVE_ADMINISTRATOR} returning revoked_at as revokedAt`);

/** The same for an operator, who is not a user: `by` describes the operator in words. */
export const markRevokedByOperator = statement<
  { organizationId: string; keyId: string; now: number; by: string },
  Revocation
>(`
  update api_keys set revoked_at = :now, revoked_by = :by, revision = revision + 1
  where ${THE_KEY} and revoked_at is null returning revoked_at as revokedAt`);

/** Whether and when a key was revoked, or no row if there is no such key. */
export const findRevocation = statement<{ organizationId: string; keyId: string }, { revokedAt: number | null }>(
  `select revoked_at as revokedAt from api_keys where ${THE_KEY}`,
);

/** Up to 100 of the organization's keys that are neither revoked nor expired. */
export const findSomeLiveKeys = statement<{ organizationId: string; now: number }, { id: string }>(
  `${LIVE_KEY_IDS} limit 100`,
);
