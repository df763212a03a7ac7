import { callD1 } from '../../db/client.ts';
import {
  findRefusedUses,
  findRefusedUsesOfKey,
  findRevokedKeysTried,
  forgetAddresses,
  type RefusedUseRow,
  recordRefusedUse,
} from '../../db/keys/refused-uses.ts';
import type { KeyReference } from '../../domain/errors.ts';
import { ADDRESS_RETENTION_MS, type RefusedUseReason } from '../../domain/refused-use.ts';
import { atD1 } from '../audit/write-with-audit.ts';
import type { JobContext, OrganizationContext, ServiceContext } from '../context.ts';

export type { RefusedUseRow } from '../../db/keys/refused-uses.ts';

/** Uses on the organization's page. */
const PAGE_SIZE = 100;

/** What is to be added to the record of a key's refused uses. */
export interface RefusedUse extends KeyReference {
  reason: RefusedUseReason;
  count: number;
  sourceAddress: string | null;
}

/**
 * Records that a key was used in vain, for its administrators.
 * @throws Refusal `unavailable`
 */
export async function recordRefusal(
  ctx: ServiceContext,
  { organizationId, keyId, reason, count, sourceAddress }: RefusedUse,
): Promise<void> {
  const values = { organizationId, keyId, reason, count, sourceAddress, now: ctx.now() };
  await atD1(ctx, () => recordRefusedUse.bind(ctx.db, values).run());
}

/**
 * The refused uses of one key, or the latest of the organization.
 * @throws Refusal `unavailable`
 */
export async function listRefusedUses(ctx: OrganizationContext, keyId?: string): Promise<RefusedUseRow[]> {
  const { db, organizationId } = ctx;
  const statement =
    keyId === undefined
      ? findRefusedUses.bind(db, { organizationId, limit: PAGE_SIZE })
      : findRefusedUsesOfKey.bind(db, { organizationId, keyId });
  const { results } = await atD1(ctx, () => statement.all<RefusedUseRow>());
  return results;
}

/**
 * The latest uses of revoked keys since an instant (UTC milliseconds).
 * @throws Refusal `unavailable`
 */
export async function listRevokedKeysTried(ctx: OrganizationContext, since: number): Promise<RefusedUseRow[]> {
  const { db, organizationId } = ctx;
  const statement = findRevokedKeysTried.bind(db, { organizationId, since, limit: PAGE_SIZE });
  const { results } = await atD1(ctx, () => statement.all<RefusedUseRow>());
  return results;
}

/**
 * Forgets the source addresses of refused uses that are older than they are kept. Run once a day.
 * @throws D1Failure
 */
export async function forgetOldAddresses({ db, now, deadlineAt }: JobContext): Promise<void> {
  await callD1({ deadlineAt }, () => forgetAddresses.bind(db, { before: now() - ADDRESS_RETENTION_MS }).run());
}
