import { revokeSucceeded } from '../../db/keys/key-statements.ts';
import type { Database, Statement } from '../../db/query.ts';
import { isLive, keyState } from '../../domain/api-key.ts';
import { invalidInput, type ServiceError } from '../../domain/errors.ts';
import { GRACE_MS, type Grace, MAX_KEYS_IN_GRACE } from '../../domain/key-input.ts';
import type { AuditedChange } from '../audit/write-with-audit.ts';
import type { AdminContext } from '../service-context.ts';
import type { KeyDetails } from './read-keys.ts';

/**
 * A key as its succession at `now` leaves it, and the instant (UTC milliseconds) at which its grace period ends. A key that
 * does not work stays as it is.
 */
export function succeeded(old: KeyDetails, grace: Grace, now: number): { endsAt: number; replaced: KeyDetails } {
  const endsAt = now + (grace === 'now' ? 0 : GRACE_MS[grace]);
  if (!isLive(old.state)) return { endsAt, replaced: old };
  const end = { expiresAt: Math.min(old.expiresAt ?? endsAt, endsAt), revokedAt: grace === 'now' ? now : null };
  return { endsAt, replaced: { ...old, ...end, state: keyState(end, now) } };
}

interface Succession extends Record<'mark' | 'insert', AuditedChange<never>['statement']> {
  old: KeyDetails;
  successor: { id: string; hint: string };
  /** Of the new key in the audit log. */
  detail: string;
  /** Runs after the audit row of the new key. */
  completion?: Statement;
  isRevoked: boolean;
  now: number;
}

/** The changes by which a key gets a successor, in one transaction. */
export function succession(
  { actor }: AdminContext,
  db: Database,
  { old, successor: { id, hint }, mark, insert, detail, completion, isRevoked, now }: Succession,
): AuditedChange<never>[] {
  return [
    { statement: mark, action: 'api_key.rotated', targetId: old.id, detail: `replaced by ${hint}` },
    { statement: insert, action: 'api_key.created', targetId: id, detail, ...(completion && { completion }) },
    ...(isRevoked
      ? [
          {
            statement: revokeSucceeded(db, { ...actor, id, now }),
            action: 'api_key.revoked' as const,
            targetId: old.id,
          },
        ]
      : []),
  ];
}

/** Too many replaced keys are in their grace period for one more. */
export function tooManyInGrace(): ServiceError {
  const detail = `the organization has ${MAX_KEYS_IN_GRACE} replaced keys that still work, which is the limit; end this key immediately, or revoke a replaced key first`;
  return invalidInput([{ pointer: '/grace', code: 'too_many', detail }]);
}
