import {
  addRefusedUses,
  findRefusedUses,
  findRefusedUsesOfKey,
  findRefusedUsesPage,
  type RefusedUseRow,
} from '../../db/keys/refused-use-statements.ts';
import type { KeyReference } from '../../domain/errors.ts';
import { AFTER_ALL_IDS } from '../../domain/record-id.ts';
import { type LostWrite, lostWrite, type RefusedUseReason } from '../../domain/refused-use.ts';
import { parseStored } from '../../domain/stored-json.ts';
import { readAll, write } from '../call-d1.ts';
import {
  type ActorContext,
  type AdminActor,
  type ExportPage,
  forNextCall,
  type ServiceContext,
} from '../service-context.ts';

const PAGE_SIZE = 100;
const EXPORT_PAGE_SIZE = 500;

/** Times are UTC milliseconds; the count is a lower bound. */
export type RefusedUse = ReturnType<typeof toRefusedUse>;

export interface NewRefusedUses extends KeyReference {
  reason: RefusedUseReason;
  count: number;
  sourceAddress: string | null;
  lost?: readonly LostWrite[];
}

export async function recordRefusedUses(
  ctx: ServiceContext,
  { organizationId, keyId, reason, count, sourceAddress, lost = [] }: NewRefusedUses,
): Promise<void> {
  const lostWrites = lost.length === 0 ? null : JSON.stringify(lost);
  const values = { organizationId, keyId, reason, count, sourceAddress, lostWrites, now: ctx.now() };
  await write(ctx, 'may_have_written', addRefusedUses.bind(values));
}

/** The refused uses of one key, or the latest ones of the organization. */
export async function listRefusedUses(ctx: ActorContext<AdminActor>, keyId?: string): Promise<RefusedUse[]> {
  const { organizationId } = ctx.actor;
  const statement =
    keyId === undefined
      ? findRefusedUses.bind({ organizationId, limit: PAGE_SIZE })
      : findRefusedUsesOfKey.bind({ organizationId, keyId });
  const results = await readAll(ctx, statement);
  return results.map(toRefusedUse);
}

/** The refused uses of the organization after a cursor (key and reason), newest keys first, a page at a time. */
export async function* everyRefusedUse(
  ctx: ActorContext<AdminActor>,
  cursor = `${AFTER_ALL_IDS}.`,
): AsyncGenerator<ExportPage<RefusedUse>> {
  const { organizationId } = ctx.actor;
  for (let before: string | undefined = cursor; before !== undefined; ) {
    const [beforeKeyId = '', beforeReason = '']: string[] = before.split('.');
    const page = findRefusedUsesPage.bind({ organizationId, beforeKeyId, beforeReason, limit: EXPORT_PAGE_SIZE });
    const results: RefusedUseRow[] = await readAll(forNextCall(ctx), page);
    const last = results.length === EXPORT_PAGE_SIZE ? results.at(-1) : undefined;
    before = last && `${last.keyId}.${last.reason}`;
    yield { items: results.map(toRefusedUse), next: before };
  }
}

function toRefusedUse({ keyId, keyName, keyHint, lostWrites, ...use }: RefusedUseRow) {
  // The latest writes that were lost because of a reused Idempotency-Key, latest first.
  const lost = lostWrites === null ? [] : parseStored(lostWrite.array(), lostWrites, `a refused use of key ${keyId}`);
  return { key: { id: keyId, name: keyName, hint: keyHint }, lost, ...use };
}
