import { formatCursor } from '../../domain/change.ts';
import { ServiceError } from '../../domain/errors.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { hasChanged, writeWithAudit } from '../../services/audit/write-with-audit.ts';
import { readOne } from '../../services/call-d1.ts';
import type { PushControl } from '../../services/service-context.ts';
import { findConfirmedSeq, markSkipped, touchPush } from './push-statements.ts';
import type { Pusher } from './pusher.ts';

/** The namespace of the objects that push, as their control needs it. */
interface ControlledPushers {
  getByName(organizationId: string): Pick<Pusher, 'resume' | 'skip'>;
}

const OBJECT_DEADLINE_MS = 10_000;

/**
 * Each function first writes the audit row, and then calls the object. Each order to resume counts, even one that the
 * object ignores. To skip also changes the state's copy: a repeated call writes nothing, and only calls the object.
 */
export const pushControlOf = (pushers: ControlledPushers): PushControl => ({
  async resume(ctx, target) {
    const { organizationId } = target;
    const order = touchPush.bind({ organizationId, requestId: ctx.requestId });
    await writeWithAudit(ctx, target, 'safe_to_repeat', () => [
      { statement: order, action: 'push.resumed', targetId: organizationId },
    ]);
    const isResumed = await acted(pushers.getByName(organizationId).resume(organizationId));
    return { status: isResumed ? 'resumed' : 'unchanged' };
  },
  async skip(ctx, target, to) {
    const { organizationId } = target;
    const before = await readOne(ctx, findConfirmedSeq.bind({ organizationId }));
    const [skipped] = await writeWithAudit(ctx, target, 'safe_to_repeat', () => [
      {
        statement: markSkipped.bind({ organizationId, seq: to.seq }),
        action: 'push.skipped',
        targetId: organizationId,
        detail: `changes ${(before?.confirmedSeq ?? 0) + 1} to ${to.seq} are not delivered, unless they were before`,
      },
    ]);
    await acted(pushers.getByName(organizationId).skip(organizationId, formatCursor(to)));
    return { status: hasChanged(skipped) ? 'skipped' : 'unchanged' };
  },
});

async function acted<T>(object: Promise<T>): Promise<T> {
  try {
    return await withDeadline(object, OBJECT_DEADLINE_MS);
  } catch (cause) {
    const detail = 'The push did not respond. Make the same call again; it is safe to repeat.';
    throw new ServiceError('unavailable', detail, { database: 'unknown', cause });
  }
}
