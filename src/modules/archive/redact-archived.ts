import type { BoundStatement } from '../../db/statement.ts';
import { findArchivedRecord, markArchivedRedacted } from '../../db/work/record-statements.ts';
import { bySystem, hasChanged, writeWithAudit } from '../../services/audit/write-with-audit.ts';
import { readOne } from '../../services/call-d1.ts';
import type { Redaction, RedactionRequest, SystemContext } from '../../services/service-context.ts';
import { markChecked, replaceRedacted } from './archive-statements.ts';
import type { ArchiveContext } from './bucket.ts';
import { logDamage } from './check-archive.ts';
import { deleteOthers, readSegment, storeSegment, withoutTexts } from './segment.ts';

/** Another call may replace the object that was read; then read again. */
const MAX_ROUNDS = 5;

/**
 * Redacts an archived record: marks it, together with the audit row, and names an object without its
 * text. If its object is missing or damaged, the mark is all that is done: from then on the text is
 * removed from whatever is read. Undefined if there is no such record. A call that ends before its
 * last step is completed by the next one. Of simultaneous calls, each may return `redacted`.
 * @throws ServiceError `unavailable`: the same call can be repeated
 */
export async function redactArchived(
  ctx: SystemContext & ArchiveContext,
  { organization: organizationId, kind, id, by }: RedactionRequest,
): Promise<Redaction | undefined> {
  let isOurs = false;
  for (let round = 1; round <= MAX_ROUNDS; round++) {
    const segment = await readOne(ctx, findArchivedRecord[kind].bind({ organizationId, id }), 'safe_to_repeat');
    if (!segment) return undefined;
    if (segment.isRedacted === 1) {
      await deleteOthers(ctx, segment);
      // A call without a response may have been committed.
      const status = isOurs ? 'redacted' : 'unchanged';
      const read = await readSegment(ctx, segment);
      return 'damage' in read ? { status, archive: read.damage } : { status };
    }
    const mark = (completion: BoundStatement<never>) =>
      writeWithAudit(ctx, bySystem(ctx, organizationId, by), 'safe_to_repeat', () => [
        {
          statement: markArchivedRedacted[kind].bind({ ...segment, id }),
          action: `${kind}.redacted` as const,
          targetId: id,
          ticket: { of: kind },
          completion,
        },
      ]);
    isOurs = true;
    const read = await readSegment(ctx, segment);
    if ('damage' in read) {
      const [marked] = await mark(markChecked.bind({ ...segment, isDamaged: 1, now: ctx.now() }));
      if (!hasChanged(marked)) continue;
      logDamage(segment, read.damage);
      return { status: 'redacted', archive: read.damage };
    }
    const isStored = await storeSegment(ctx, segment, withoutTexts(read.changes, [id]), async (file) => {
      const [marked] = await mark(replaceRedacted.bind({ ...segment, ...file }));
      return hasChanged(marked);
    });
    if (isStored) return { status: 'redacted' };
  }
  throw new Error(`the archive of ${kind} ${id} changed ${MAX_ROUNDS} times while it was redacted`);
}
