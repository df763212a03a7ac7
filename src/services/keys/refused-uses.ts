import * as z from 'zod/mini';
import { endLostWrites, findEnderOfLostWrites } from '../../db/keys/end-refused-uses.ts';
import {
  findRefusedUses,
  findRefusedUsesPage,
  findUsesOfKey,
  type RefusedUseRow,
} from '../../db/keys/refused-use-statements.ts';
import { AFTER_ALL_IDS } from '../../domain/record-id.ts';
import { allowsRefused, lostWrite } from '../../domain/refused-use.ts';
import { parseStored } from '../../domain/stored-json.ts';
import { byAdministrator, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { query } from '../call-d1.ts';
import { administratorsTimeZone } from '../directory/administrators.ts';
import { type AdminContext, type ExportPage, forNextCall } from '../service-context.ts';
import { everyRefusedRequest, type RefusedRequest, withRefusedKey } from './refused-requests.ts';

const PAGE_SIZE = 100;
const EXPORT_PAGE_SIZE = 500;

/** Times are UTC milliseconds. */
export type RefusedUse = ReturnType<typeof toRefusedUse>;

export async function listRefusedUses(ctx: AdminContext): Promise<RefusedUse[]> {
  const rows = await query(ctx, 'nothing_written', (db) =>
    findRefusedUses(db, ctx.actor.organizationId, PAGE_SIZE, ctx.now()),
  );
  return rows.map(toRefusedUse);
}

export async function readUsesOfKey(ctx: AdminContext, keyId: string): Promise<RefusedUse[]> {
  const rows = await query(ctx, 'nothing_written', (db) =>
    findUsesOfKey(db, ctx.actor.organizationId, keyId, ctx.now()),
  );
  return rows.map(toRefusedUse);
}

/** The refused uses of the organization after a cursor (key, reason and limit), newest keys first, a page at a time. */
export async function* everyRefusedUse(
  ctx: AdminContext,
  cursor = `${AFTER_ALL_IDS}..`,
): AsyncGenerator<ExportPage<RefusedUse>> {
  for (let before: string | undefined = cursor; before !== undefined; ) {
    const [beforeKeyId = '', beforeReason = '', beforeLimitId = '']: string[] = before.split('.');
    const page = { beforeKeyId, beforeReason, beforeLimitId, limit: EXPORT_PAGE_SIZE, now: ctx.now() };
    const results: RefusedUseRow[] = await query(forNextCall(ctx), 'nothing_written', (db) =>
      findRefusedUsesPage(db, ctx.actor.organizationId, page),
    );
    const last = results.length === EXPORT_PAGE_SIZE ? results.at(-1) : undefined;
    before = last && `${last.keyId}.${last.reason}.${last.limitId}`;
    yield { items: results.map(toRefusedUse), next: before };
  }
}

/** Every reason: refused uses, and then the latest request of each reason that they do not count. */
export async function* everyReason(
  ctx: AdminContext,
  { before, status }: { before: string | undefined; status: number | undefined },
): AsyncGenerator<ExportPage<RefusedUse | RefusedRequest>> {
  // The id of a request has no dot.
  const isOther = before !== undefined && !before.includes('.');
  if (!isOther) {
    for await (const { items, next = AFTER_ALL_IDS } of everyRefusedUse(ctx, before)) yield { items, next };
  }
  yield* everyRefusedRequest(ctx, { byReason: true, status, before: isOther ? before : undefined });
}

/**
 * Ends the lost writes of a key that an administrator has entered by hand: those that were counted when the page was
 * opened. Returns whether this administrator did so, now or before: not if another one was lost since, or another
 * administrator was first.
 * @throws ServiceError `not_administrator`
 */
export async function endLostWritesOf(
  ctx: AdminContext,
  keyId: string,
  seen: { count: number; lastAt: number },
): Promise<boolean> {
  const { organizationId, userId } = ctx.actor;
  const [result] = await writeWithAudit(ctx, byAdministrator(ctx), 'safe_to_repeat', (db, now) => [
    {
      statement: endLostWrites(db, { ...ctx.actor, ...seen, keyId, now }),
      action: 'api_key.lost_writes_entered',
      targetId: keyId,
      detail: `${seen.count} ${seen.count === 1 ? 'write' : 'writes'}`,
    },
  ]);
  if (hasChanged(result)) return true;
  await administratorsTimeZone(ctx);
  const [ender] = await query(ctx, 'nothing_written', (db) =>
    findEnderOfLostWrites(db, { organizationId, keyId, ...seen }),
  );
  return ender?.userId === userId;
}

const subjectsShape = z.lazy(() => {
  const text = z.nullable(z.string());
  return z.array(z.object({ sourceAddress: text, companyId: text, company: text }));
});

function toRefusedUse({ lostWrites, needsAttention, isMinimum, subjects: stored, ...row }: RefusedUseRow) {
  const { key, isAllowedNow, ...use } = withRefusedKey(row);
  const subjects = stored === null ? [] : parseStored(subjectsShape, stored, `a refused use of key ${key.id}`);
  const idOf = (one: { sourceAddress: string | null; companyId: string | null }) =>
    use.reason === 'address_not_allowed' ? one.sourceAddress : one.companyId;
  const others = subjects.filter((one) => idOf(one) !== null && idOf(one) !== idOf(use));
  const stillRefused = others.filter((one) => !allowsRefused(row, { ...use, ...one }));
  // The latest writes that were lost because of a reused Idempotency-Key, latest first.
  const lost = lostWrites === null ? [] : parseStored(z.array(lostWrite), lostWrites, `a refused use of key ${key.id}`);
  return {
    ...use,
    key,
    lost,
    /** The other addresses or companies that the log has of these uses, latest first. */
    others,
    /** Those of them that the key still refuses. */
    stillRefused,
    /** Whether the key allows the last address or company now; `isAllowedNow` is about all of them. */
    isLastAllowed: isAllowedNow,
    isAllowedNow: isAllowedNow && stillRefused.length === 0,
    /** Whether the count is a lower bound. */
    isMinimum: isMinimum === 1,
    needsAttention: needsAttention === 1,
  };
}
