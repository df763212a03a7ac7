import { ServiceError } from '../../domain/errors.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { writeWithAudit } from '../../services/audit/write-with-audit.ts';
import type { PushControl } from '../../services/service-context.ts';
import { touchPush } from './push-statements.ts';
import type { Pusher } from './pusher.ts';

/** The namespace of the objects that push, as their control needs it. */
interface ControlledPushers {
  getByName(organizationId: string): Pick<Pusher, 'resume'>;
}

const OBJECT_DEADLINE_MS = 10_000;

/** The audit row is written first, even for an order that the object ignores. */
export const pushControlOf = (pushers: ControlledPushers): PushControl => ({
  async resume(ctx, target) {
    const { organizationId } = target;
    await writeWithAudit(ctx, target, 'safe_to_repeat', (db) => [
      { statement: touchPush(db, organizationId, ctx.requestId), action: 'push.resumed', targetId: organizationId },
    ]);
    const isResumed = await acted(pushers.getByName(organizationId).resume(organizationId));
    return { status: isResumed ? 'resumed' : 'unchanged' };
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
