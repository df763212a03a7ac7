import type { PostOutcome } from '../../domain/post-outcome.ts';
import { log } from '../../lib/log.ts';
import { readAll, write } from '../../services/call-d1.ts';
import type { ServiceContext } from '../../services/context.ts';
import { claimNotices, endNotices, findDueNotices, postponeNotices, type WaitingNotice } from './alert-statements.ts';
import { type NoticeChannel, noticePauseMs } from './notice.ts';
import type { Outlet } from './outlets.ts';

/** How many messages one run sends. */
export const MAX_MESSAGES = 100;
/** How many notices it reads at a time, and how many of them of one organization. */
const MAX_DUE = 200;
const MAX_DUE_EACH = 20;
/** How many messages are under way at a time. */
const AT_ONCE = 4;
/** After so many failures in a row, a run leaves a channel alone. */
const MAX_FAILURES = 3;
/** No attempt begins later than this before the deadline of the run. */
const LAST_ATTEMPT_MS = 60_000;

/** What a run has done so far. */
interface Run {
  messages: number;
  /** Failures in a row, by channel. */
  failures: Record<NoticeChannel, number>;
  /** The organizations whose last attempt failed, by channel. */
  failed: Record<NoticeChannel, Set<string>>;
}

/**
 * Sends the notices that are due. Each is claimed before it is sent, so that simultaneous runs do
 * not both send it, and marked afterwards. If the mark is lost, it is sent again under the same id.
 */
export async function sendNotices(ctx: ServiceContext, outlets: readonly Outlet[]): Promise<void> {
  const run: Run = { messages: 0, failures: { push: 0, chat: 0 }, failed: { push: new Set(), chat: new Set() } };
  // Others become due when those before them were sent.
  for (let before = -1; before < run.messages; ) {
    before = run.messages;
    const groups = (await Promise.all(outlets.map((outlet) => dueFor(ctx, outlet)))).flat().values();
    const sendOneAfterAnother = async () => {
      for (const [outlet, group] of groups) await sendGroup(ctx, outlet, run, group);
    };
    // All of them end before an error is thrown: what was sent is marked.
    const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, sendOneAfterAnother));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }
}

/** The notices that are due for an outlet by organization, those with the fewest attempts first. */
async function dueFor(ctx: ServiceContext, outlet: Outlet) {
  const values = { channel: outlet.channel, now: ctx.now(), each: MAX_DUE_EACH, limit: MAX_DUE };
  const results = await readAll(ctx, findDueNotices.bind(values));
  const groups = Map.groupBy(results.toSorted(inOrder), ({ organizationId }) => organizationId);
  return Array.from(groups.values(), (group) => [outlet, group] as const);
}

const inOrder = (a: WaitingNotice, b: WaitingNotice) =>
  a.attempts - b.attempts || a.madeAt - b.madeAt || a.rank - b.rank;

/** Sends notices of one organization, until an attempt fails. */
async function sendGroup(
  ctx: ServiceContext,
  outlet: Outlet,
  run: Run,
  group: readonly WaitingNotice[],
): Promise<void> {
  const { channel, size } = outlet;
  for (let start = 0; start < group.length; start += size) {
    const notices = group.slice(start, start + size);
    const organizationId = notices[0]?.organizationId ?? '';
    const isOver = run.messages >= MAX_MESSAGES || Date.now() > ctx.deadlineAt - LAST_ATTEMPT_MS;
    if (isOver || run.failures[channel] >= MAX_FAILURES || run.failed[channel].has(organizationId)) return;
    const claimed = await claim(ctx, channel, notices);
    if (claimed.length === 0) continue;
    run.messages += 1;
    const isEnded = await record(ctx, channel, claimed, await outlet.send(claimed));
    run.failures[channel] = isEnded ? 0 : run.failures[channel] + 1;
    if (!isEnded) run.failed[channel].add(organizationId);
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
  const results = await readAll(ctx, statement, 'safe_to_repeat');
  return notices.filter(({ id }) => results.some((claimed) => claimed.id === id));
}

/** How many attempts there are with the present one. */
const attemptsOf = (notices: readonly WaitingNotice[]) => 1 + Math.max(...notices.map(({ attempts }) => attempts));

/** Records the end of an attempt. Returns false if it is to be repeated. */
async function record(
  ctx: ServiceContext,
  channel: NoticeChannel,
  notices: readonly WaitingNotice[],
  outcome: PostOutcome,
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
    await write(ctx, 'safe_to_repeat', end);
    return true;
  }
  const retryAt = ctx.now() + (outcome.result === 'failed' ? outcome.retryAfterMs : 0);
  const postpone = postponeNotices.bind({ ...some, failure, retryAt });
  await write(ctx, 'safe_to_repeat', postpone);
  return false;
}
