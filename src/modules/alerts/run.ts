import type { Config } from '../../config.ts';
import { timeOrderedId } from '../../domain/record-id.ts';
import { makeNotices } from './make-notices.ts';
import { outletsOf } from './outlets.ts';
import { sendNotices } from './send-notices.ts';

/** The deadline of a run. It is shorter than the shortest pause before a notice is sent again. */
const DEADLINE_MS = 180_000;

/**
 * Makes notices and sends those that are due, every five minutes. What a run leaves is done by the
 * next one. Does nothing without an address.
 */
export async function notices(
  db: D1Database,
  { receiver, noticeUrl, serviceUrl, dayLimits, databaseLimit }: Config & { noticeUrl?: string | undefined },
  now: () => number = Date.now,
): Promise<void> {
  const outlets = outletsOf({ push: receiver, chat: noticeUrl, serviceUrl });
  if (outlets.length === 0) return;
  const ctx = { db, now, databaseLimit, deadlineAt: Date.now() + DEADLINE_MS, requestId: timeOrderedId(now()) };
  const channels = outlets.map(({ channel }) => channel);
  await makeNotices(ctx, { channels, dayLimits, isPushOn: receiver !== undefined });
  await sendNotices(ctx, outlets);
}
