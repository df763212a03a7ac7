import type * as z from 'zod';
import {
  changePolicy,
  countEndlessKeys,
  type ExpiryRulesRow,
  findKeyRules,
  findPolicy,
  findPolicyChanges,
  type PolicyChangeRow,
  type PolicyRow,
} from '../../db/keys/policy.ts';
import { invalidInput, ServiceError } from '../../domain/errors.ts';
import { type KeyPolicy, keyPolicy, type NewKeyLifetime, policyError } from '../../domain/key-policy.ts';
import { byAdministrator, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { readBatch, readOne } from '../call-d1.ts';
import type { ActorContext, AdminActor } from '../context.ts';
import { notAdministrator } from '../directory/administrators.ts';
import { parseInput } from '../parse-input.ts';

/** A policy as it is stored. */
export interface StoredPolicy extends KeyPolicy {
  /** Since when reviews are required (UTC milliseconds), or null. */
  reviewsSince: number | null;
  /** Counts the changes of the policy. */
  revision: number;
}

/** A change of the policy. `at` is in UTC milliseconds. */
export type PolicyChange = PolicyChangeRow;

const CHANGED = 'key_policy.changed';
/** How many changes the page of the policy shows. */
const LISTED_CHANGES = 10;

/** Converts the row of a policy. */
export function toPolicy({ expiryRequired, ...row }: PolicyRow): StoredPolicy {
  return { ...row, expiryRequired: expiryRequired === 1 };
}

/** The policy of the organization. */
export async function getKeyPolicy(ctx: ActorContext<AdminActor>): Promise<StoredPolicy> {
  const { organizationId } = ctx.actor;
  return requirePolicy(await readOne(ctx, findPolicy.bind({ organizationId })));
}

/** The policy in the result of `findPolicy`, which always has one row. */
export function requirePolicy(row: PolicyRow | null | undefined): StoredPolicy {
  if (!row) throw new Error('the organization does not exist');
  return toPolicy(row);
}

/** The policy with what its page shows beside it. */
export interface PolicyOverview {
  policy: StoredPolicy;
  /** The latest changes, newest first. */
  changes: readonly PolicyChange[];
  /** How many live keys never expire. */
  endlessKeys: number;
}

/** The policy, its latest changes, and how many keys never expire. */
export async function readPolicyOverview(ctx: ActorContext<AdminActor>): Promise<PolicyOverview> {
  const { organizationId } = ctx.actor;
  const [[policy], changes, [endless]] = await readBatch(ctx, [
    findPolicy.bind({ organizationId }),
    findPolicyChanges.bind({ organizationId, action: CHANGED, limit: LISTED_CHANGES }),
    countEndlessKeys.bind({ organizationId }),
  ]);
  return {
    policy: requirePolicy(policy),
    changes,
    endlessKeys: endless?.keys ?? 0,
  };
}

/**
 * The policy and the time zone of the administrator's organization.
 * @throws ServiceError `not_administrator`
 */
export async function readKeyRules(ctx: ActorContext<AdminActor>): Promise<{ policy: StoredPolicy; timeZone: string }> {
  const found = await readOne(ctx, findKeyRules.bind(ctx.actor));
  if (!found) throw notAdministrator();
  const { timeZone, ...row } = found;
  return { policy: toPolicy(row), timeZone };
}

/**
 * Requires that the policy admits a new key.
 * @throws ServiceError `invalid`
 */
export function requireAdmitted(policy: Pick<KeyPolicy, 'maxLifetimeDays' | 'expiryRequired'>, key: NewKeyLifetime) {
  const error = policyError(policy, key);
  if (error) throw invalidInput([error]);
}

/** The same for what an insert found in its transaction. */
export function requireAdmittedByRow({ maxLifetimeDays, expiryRequired }: ExpiryRulesRow, key: NewKeyLifetime) {
  requireAdmitted({ maxLifetimeDays, expiryRequired: expiryRequired === 1 }, key);
}

const describeDays = (days: number | null) => (days === null ? 'none' : `${days} ${days === 1 ? 'day' : 'days'}`);
const describeMonths = (months: number | null) =>
  months === null ? 'none' : `every ${months} ${months === 1 ? 'month' : 'months'}`;
const yesOrNo = (flag: boolean) => (flag ? 'yes' : 'no');

/** What a change of the policy changes, in words. */
function describeChange(from: KeyPolicy, to: KeyPolicy): string[] {
  return (
    [
      ['longest lifetime', describeDays(from.maxLifetimeDays), describeDays(to.maxLifetimeDays)],
      ['expiration required', yesOrNo(from.expiryRequired), yesOrNo(to.expiryRequired)],
      ['unused after', describeDays(from.unusedDays), describeDays(to.unusedDays)],
      ['review', describeMonths(from.reviewMonths), describeMonths(to.reviewMonths)],
    ] as const
  ).flatMap(([what, old, changed]) => (old === changed ? [] : [`${what} ${old} to ${changed}`]));
}

/**
 * Changes the policy of the organization. Existing keys are not affected. `oldRevision` is that of
 * the policy that the administrator saw: a change that another administrator has made since then is
 * not overwritten.
 * @throws ServiceError `invalid`, `policy_changed_meanwhile`, `not_administrator`
 */
export async function changeKeyPolicy(
  ctx: ActorContext<AdminActor>,
  oldRevision: number,
  input: z.input<typeof keyPolicy>,
): Promise<'changed' | 'unchanged'> {
  const to = parseInput(keyPolicy, input);
  const from = await getKeyPolicy(ctx);
  if (from.revision !== oldRevision) throw policyChangedMeanwhile();
  const details = describeChange(from, to);
  if (details.length === 0) return 'unchanged';

  const values = { ...ctx.actor, ...to, expiryRequired: to.expiryRequired ? 1 : 0, oldRevision };
  const [result] = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (now) => [
    {
      statement: changePolicy.bind({ ...values, now }),
      action: CHANGED,
      targetId: ctx.actor.organizationId,
      detail: details.join(', '),
    },
  ]);
  if (hasChanged(result)) return 'changed';

  const { policy } = await readKeyRules(ctx);
  // All equal: the change was committed but the acknowledgement was lost, or another administrator
  // made the same change.
  if (describeChange(policy, to).length === 0) return 'changed';
  throw policyChangedMeanwhile();
}

function policyChangedMeanwhile(): ServiceError {
  return new ServiceError('policy_changed_meanwhile', 'Another administrator changed the policy; nothing was saved.');
}
