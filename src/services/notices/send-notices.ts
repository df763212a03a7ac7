import {
  claimNotices,
  endNotices,
  findDueNotices,
  postponeNotices,
  type WaitingNotice,
} from '../../db/notices/notices.ts';
import { type NoticeChannel, noticePauseMs } from '../../domain/notice.ts';
import type { PushOutcome } from '../../domain/push.ts';
import { log } from '../../lib/log.ts';
import { callD1 } from '../call-d1.ts';
import type { ServiceContext } from '../context.ts';
import type { Outlet } from './outlets.ts';

/** How many messages one run sends. */
export const MAX_MESSAGES = 100;
/** How many notices it reads at a time. */
const MAX_DUE = 200;
/** How many messages are under way at a time. */
const AT_ONCE = 4;
/** After so many failures in a row, a run leaves a channel alone. */
const MAX_FAILURES = 3;
/** No attempt begins later than this before the deadline of the run. */
const LAST_ATTEMPT_MS = 60_000;

/** What a run has done so far. */
interface Run {
  messages: number;
  /** Failures in a row. */
  failures: Record<NoticeChannel, number>;
}

/**
 * Sends the notices that are due. Each is claimed before it is sent, so that simultaneous runs do
 * not both send it, and marked afterwards. If the mark is lost, it is sent again under the same id.
 * @throws ServiceError `unavailable`
 */
export async function sendNotices(ctx: ServiceContext, outlets: readonly Outlet[]): Promise<void> {
  const run: Run = { messages: 0, failures: { push: 0, chat: 0 } };
  // A notice may become due when the one before it was sent.
  for (let before = -1; before < run.messages; ) {
    before = run.messages;
    const due = await readDue(ctx, outlets);
    const groups = outlets.flatMap((outlet) => groupsOf(outlet, due)).values();
    const sendOneAfterAnother = async () => {
      for (const [outlet, group] of groups) await sendGroup(ctx, outlet, run, group);
    };
    // All of them end before an error is thrown: what was sent is marked.
    const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, sendOneAfterAnother));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }
}

async function readDue(ctx: ServiceContext, outlets: readonly Outlet[]): Promise<WaitingNotice[]> {
  const channels = JSON.stringify(outlets.map(({ channel }) => channel));
  const values = { channels, now: ctx.now(), limit: MAX_DUE };
  return (await callD1(ctx, 'nothing_written', (db) => findDueNotices.bind(values).all(db))).results;
}

/** The notices for an outlet by organization, each in the order in which they were made. */
function groupsOf(outlet: Outlet, due: readonly WaitingNotice[]) {
  const inOrder = due
    .filter(({ channel }) => channel === outlet.channel)
    .toSorted((a, b) => a.madeAt - b.madeAt || a.rank - b.rank);
  const groups = Map.groupBy(inOrder, ({ organizationId }) => organizationId);
  return Array.from(groups.values(), (group) => [outlet, group] as const);
}

/** Sends notices of one organization, until an attempt fails. */
async function sendGroup(
  ctx: ServiceContext,
  outlet: Outlet,
  run: Run,
  group: readonly WaitingNotice[],
): Promise<void> {
  const { channel, size } = outlet;
  for (let start = 0; start < group.length; start += size) {
    const isOver = run.messages >= MAX_MESSAGES || Date.now() > ctx.deadlineAt - LAST_ATTEMPT_MS;
    if (isOver || run.failures[channel] >= MAX_FAILURES) return;
    const claimed = await claim(ctx, channel, group.slice(start, start + size));
    if (claimed.length === 0) continue;
    run.messages += 1;
    const isConfirmed = await record(ctx, channel, claimed, await outlet.send(claimed));
    run.failures[channel] = isConfirmed ? 0 : run.failures[channel] + 1;
    if (!isConfirmed) return;
  }
}

/** The parameters that name these notices of one organization. */
const named = (channel: NoticeChannel, notices: readonly WaitingNotice[]) => ({
  organizationId: notices[0]?.organizationId ?? '',
  channel,
  notices: JSON.stringify(notices.map(({ subject, id }) => ({ subject, id }))),
});

/** Begins an attempt. Returns those of the notices that may be sent. */
async function claim(
  ctx: ServiceContext,
  channel: NoticeChannel,
  notices: readonly WaitingNotice[],
): Promise<WaitingNotice[]> {
  const now = ctx.now();
  const retryAt = now + noticePauseMs(attemptsOf(notices));
  const statement = claimNotices.bind({ ...named(channel, notices), now, retryAt });
  const { results } = await callD1(ctx, 'safe_to_repeat', (db) => statement.all(db));
  return notices.filter(({ id }) => results.some((claimed) => claimed.id === id));
}

/** How many attempts there are with the present one. */
const attemptsOf = (notices: readonly WaitingNotice[]) => 1 + Math.max(...notices.map(({ attempts }) => attempts));

/** Records the end of an attempt. Returns whether the next notices can be sent. */
async function record(
  ctx: ServiceContext,
  channel: NoticeChannel,
  notices: readonly WaitingNotice[],
  outcome: PushOutcome,
): Promise<boolean> {
  const some = named(channel, notices);
  const failure = outcome.result === 'confirmed' ? null : outcome.failure;
  if (failure !== null) {
    const organization = some.organizationId || undefined;
    log('warn', 'notice_failed', { organization, channel, failure, attempts: attemptsOf(notices) });
  }
  // A receiver that answers 410 to a notice does not want this one. That does not stop the changes.
  if (failure === null || (outcome.result === 'gone' && channel === 'push')) {
    const end = endNotices.bind({ ...some, now: ctx.now(), failure });
    await callD1(ctx, 'safe_to_repeat', (db) => end.all(db));
    return true;
  }
  const retryAt = ctx.now() + (outcome.result === 'failed' ? outcome.retryAfterMs : 0);
  const postpone = postponeNotices.bind({ ...some, failure, retryAt });
  await callD1(ctx, 'safe_to_repeat', (db) => postpone.all(db));
  return false;
}
