import type { Change } from '../../domain/psa-shapes.ts';
import { RECORD_KIND_NAMES, RECORD_KINDS, type RecordKind } from '../../domain/record-kinds.ts';
import { testConnection } from './connection-test.ts';
import { type Context, unwrap } from './context.ts';
import { isForPsa, PsaFault, type PsaRecord, recordOf, waitsForPsa, wholeText } from './psa.ts';
import {
  backoffMs,
  forget,
  forgetRefused,
  headsIn,
  nextIn,
  type Pending,
  pendingOf,
  retryRefused,
  type Stream,
  save,
  streamIn,
  streamOf,
  TRY_AGAIN,
  updateHead,
  type Written,
} from './store.ts';
import { mayWriteTime } from './time-test.ts';
import { NotSettled, type Task, writeRecord } from './writer.ts';

const MINUTE_MS = 60_000;
/** As long as tickets may wait to be read. */
const TURN_MS = 5_000;
/** For how long of a turn the feed is read. */
const READ_MS = TURN_MS / 2;
/** How long one record may fail while others are written. */
const ALONE_MS = 60 * MINUTE_MS;
/** So many refusals in a row, on so many tickets, mean a wrong setting and not wrong records. */
const [MAX_REFUSALS, REFUSED_TICKETS] = [5, 3];
/** Such as a ticket that was deleted or merged: that says nothing about our settings. */
const ABOUT_TICKET = [404, 409, 410];
const TRIAL_MS = 15 * MINUTE_MS;
/** The failed tickets and refusals of a stream that are stored. */
const MAX_FAILED = 100;
/** How long a record that the PSA refused can be written again: as long as its refusal needs attention. */
const REFUSED_MS = 30 * 24 * 60 * MINUTE_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** An adapter writes only if it has reported this recently. */
const REPORTED_MS = 90_000;

/** Reads the feed and writes records until the tickets are due again. Returns in how many milliseconds there is more to do. */
export async function work(ctx: Context): Promise<number | undefined> {
  const { kv, world, servedAt } = ctx;
  const start = world.now();
  if (!mayWrite(ctx)) return undefined;
  const isAtEnd = await collect(ctx, start + READ_MS);
  if (start - (kv.get<number>('forgottenAt') ?? 0) > DAY_MS) {
    forgetRefused(kv, start - REFUSED_MS);
    kv.put('forgottenAt', start);
  }
  // The rest of the feed can show that a person has entered a record by hand.
  if (!isAtEnd) return 0;
  // The service was slow: report again before anything is written.
  if (world.now() >= start + TURN_MS) return 0;
  await testConnection(ctx);
  const heads = headsIn(kv);
  const end = world.now() + TURN_MS;
  while (world.now() < end && mayWrite(ctx)) {
    const pending = nextIn(kv, heads, world.now(), servedAt);
    if (!pending) return undefined;
    servedAt.set(streamOf(pending), world.now());
    const waitMs = await writeNext(ctx, pending, end);
    updateHead(kv, heads, pending);
    if (waitMs > 0) return waitMs;
  }
  return 0;
}

/** Whether records may be written: the service knows that this adapter runs, and nothing has stopped it. */
export function mayWrite({ kv, world }: Context): boolean {
  const isReported = world.now() - (kv.get<number>('reportedAt') ?? 0) <= REPORTED_MS;
  const isHalted = kv.get('stopped') !== undefined || kv.get('public') !== undefined;
  return isReported && !isHalted && world.now() >= (kv.get<number>('writesFrom') ?? 0);
}

/** Reads the feed for a while, and returns whether it came to the end. After a reset, the feed begins again. */
async function collect({ service, kv, world }: Context, until: number): Promise<boolean> {
  for (;;) {
    const cursor = kv.get<string | null>('cursor') ?? null;
    const result = await service.changes(cursor);
    if (!result.ok && result.error.code === 'cursor_reset') {
      kv.delete('cursor');
      // A restore may have removed the refusals that were reported.
      retryRefused(kv, world.now(), 0);
      continue;
    }
    const page = unwrap(result);
    let after = cursor;
    for (const change of page.changes) {
      collectChange(kv, change, after);
      after = change.cursor;
    }
    kv.put('cursor', page.cursor);
    if (!page.more) return true;
    if (world.now() >= until) return false;
  }
}

function collectChange(kv: SyncKvStorage, change: Change, after: string | null): void {
  const record = recordOf(change);
  if (!record) return;
  const { id, kind, ticketId, createdAt } = record;
  const written = kv.get<Written>(`written/${id}`);
  const known = pendingOf(kv, id);
  const isRedaction = change.action.endsWith('.redacted');
  // This adapter without its storage, or another one, may have reported the refusal.
  if (change.action.endsWith('.refused')) kv.put(`reported/${id}`, true);
  const isTaken = change.action.endsWith('.taken');
  if (isTaken) kv.delete(`reported/${id}`);
  // An administrator has entered it by hand, or removed its redacted text.
  const isByHand = isTaken && change.actor.type === 'user';
  // Later changes, such as an approval, do not show that.
  if (isByHand) kv.put(`entered/${id}`, true);
  const isEntered = kv.get(`entered/${id}`) !== undefined;
  const mayCreate = isForPsa(change) && !isEntered && (!isRedaction || known?.mayCreate === true);
  // The PSA is not asked for the decision any longer.
  if (written?.psaId !== undefined && !waitsForPsa(change)) kv.delete(`entry/${written.psaId}`);
  const place = { key: change.key?.id ?? '', seq: change.seq, since: Date.parse(createdAt), dueAt: 0, attempts: 0 };
  const pending = { ...place, ...known, id, kind, ticketId, after, mayCreate };
  // The PSA has a part of it, or may have: then the text is replaced there even if the record was set aside.
  const again = isRedaction && written && { ...TRY_AGAIN, key: '' };
  if (isRedaction || (known?.isRedaction && !isByHand))
    save(kv, { ...pending, ...again, isRedaction: true, mayCreate: mayCreate && written?.psaId === undefined });
  // A record that was not read back is read back first, even if its decider has changed.
  else if (mayCreate ? !written?.isRead : kv.get('unread') === id) save(kv, { ...pending, isRedaction: false });
  // A person has entered it, or the PSA leaves the decision to the settings area before it has taken the entry.
  else if (!mayCreate) forget(kv, id);
}

/** Writes a record before the turn ends. Returns how long the PSA asks to wait before the next one. */
async function writeNext(ctx: Context, pending: Pending, end: number): Promise<number> {
  const { kv, world } = ctx;
  const task = await readTask(ctx, pending);
  if (world.now() >= end) return 0;
  if (!task) {
    forget(kv, pending.id);
    return 0;
  }
  if (!mayWriteTime(ctx, task)) return 0;
  try {
    await writeRecord(ctx, task);
  } catch (err) {
    if (!(err instanceof PsaFault)) throw err;
    if (err instanceof NotSettled) {
      save(kv, { ...pending, dueAt: err.settledAt });
      return 0;
    }
    await afterFailure(ctx, pending, err);
    return err.retryAfterMs;
  }
  await afterWrite(ctx, pending);
  return 0;
}

/** Reads a record as it is now; undefined if the feed no longer contains it, or if the PSA does not get it now. */
async function readTask({ service, kv }: Context, pending: Pending): Promise<Task | undefined> {
  const { id, after, isRedaction } = pending;
  const result = await service.changes(after, 1);
  // After a restore, the feed was read again, and has set all places anew: this one is from before.
  const isGone = !result.ok && result.error.code === 'cursor_reset';
  const change = isGone ? undefined : unwrap(result).changes.find(({ targetId }) => targetId === id);
  const record = change && recordOf(change);
  const isUnread = kv.get('unread') === id;
  if (!change || !record) {
    console.error(JSON.stringify({ event: 'record_gone', record: id }));
    return isUnread ? { record: unreadOf(kv, pending), isRedaction: false, mayCreate: false } : undefined;
  }
  const mayCreate = pending.mayCreate && isForPsa(change);
  return mayCreate || isRedaction || isUnread ? { record, isRedaction, mayCreate } : undefined;
}

/** What the PSA has not shown of a record that a restore of the service removed. Only who can see it counts. */
function unreadOf(kv: SyncKvStorage, { id, kind, ticketId, since }: Pending): PsaRecord {
  const createdAt = new Date(since).toISOString();
  const common = { id, ticketId, createdAt, text: '', mark: `[twb:${id}]` };
  const whole = wholeText({ ...common, kind: 'note' });
  if (kv.get(`written/${whole.id}`) !== undefined) return whole;
  if (kind === 'note') return { ...common, kind };
  return { ...common, kind, userId: '', minutes: 0, workDate: createdAt, billable: false, awaitsDecision: false };
}

async function afterWrite(ctx: Context, pending: Pending): Promise<void> {
  const { kv, world } = ctx;
  const { id, kind } = pending;
  if (kv.get(`reported/${id}`) !== undefined) {
    await report(ctx, pending, 'taken');
    kv.delete(`reported/${id}`);
  }
  forget(kv, id);
  kv.put(`writtenAt/${kind}`, world.now());
  kv.delete(`failure/${kind}`);
  const stream = streamIn(kv, pending);
  if (isPaused(stream)) retryRefused(kv, world.now(), stream.refusals[0]?.at ?? 0, streamOf(pending));
  kv.delete(`stream/${streamOf(pending)}`);
}

async function afterFailure(ctx: Context, pending: Pending, err: PsaFault): Promise<void> {
  const { kv, world } = ctx;
  const now = world.now();
  const { id, kind, ticketId, attempts, failingSince = now, triedAt = now } = pending;
  const isRefused = err.outcome === 'refused';
  const isAboutTicket = isRefused && ABOUT_TICKET.includes(err.status);
  const stream = streamIn(kv, pending);
  // Others of its kind were written since it was tried before: the PSA can be reached, and the account has the right.
  const isAlone = now - failingSince >= ALONE_MS && (kv.get<number>(`writtenAt/${kind}`) ?? 0) > triedAt;
  if (isRefused && (isAboutTicket || !isPaused(stream))) await setAside(ctx, pending, err.message);
  // A note that was not read back is never set aside.
  else if (!isRefused && isAlone && kv.get('unread') === undefined)
    await setAside(ctx, pending, `It failed for an hour: ${err.message}`);
  else {
    const { settledAt = 0 } = kv.get<Written>(`written/${id}`) ?? {};
    const dueAt = Math.max(now + backoffMs(attempts), now + err.retryAfterMs, settledAt);
    save(kv, { ...pending, dueAt, failingSince, triedAt: now, attempts: attempts + 1 });
  }
  if (isAboutTicket) return;
  if (!isRefused) kv.put(`failure/${kind}`, failureOf(kind, err));
  kv.put(`stream/${streamOf(pending)}`, afterFault(stream, ticketId, now, err));
  console.warn(JSON.stringify({ event: 'record_failed', record: id, attempts: attempts + 1, failure: err.message }));
}

/** How records of a stream go on after one of them failed. */
function afterFault(before: Stream, ticketId: string, at: number, { outcome, message }: PsaFault): Stream {
  const tickets = [...before.tickets.filter((one) => one !== ticketId), ticketId].slice(-MAX_FAILED);
  if (outcome !== 'refused') return { ...before, tickets, dueAt: at + backoffMs(tickets.length - 1) };
  const latest = { ticketId, at, message };
  // The first one tells since when records were set aside.
  const [first = latest, ...others] = [...before.refusals, latest];
  const refusals = [first, ...others.slice(1 - MAX_FAILED)];
  const stream = { ...before, tickets, refusals };
  return isPaused(stream) ? { ...stream, dueAt: at + TRIAL_MS } : stream;
}

/** Whether only one record is tried every 15 minutes. */
const isPaused = ({ refusals }: Stream) =>
  refusals.length >= MAX_REFUSALS && new Set(refusals.map(({ ticketId }) => ticketId)).size >= REFUSED_TICKETS;

const failureOf = (kind: RecordKind, { outcome, message }: PsaFault) =>
  `${RECORD_KINDS[kind].scopeLabel} ${outcome === 'denied' ? 'are not accepted from this account' : 'fail'}: ${message}`;

/** Reports that the PSA does not take a record, and sets it aside. */
async function setAside(ctx: Context, pending: Pending, failure: string): Promise<void> {
  // If the adapter is killed after the report, and the record is then written, this refusal is withdrawn.
  ctx.kv.put(`reported/${pending.id}`, true);
  const reason = `${failure}${whatIsThere(ctx.kv, pending)}`;
  await report(ctx, pending, 'refused', reason.slice(0, 500).toWellFormed());
  save(ctx.kv, { ...pending, refusedAt: ctx.world.now() });
}

/** What a person has to know who enters a refused record by hand: the PSA can have it, or its first part. */
function whatIsThere(kv: SyncKvStorage, { id }: Pending): string {
  const written = kv.get<Written>(`written/${id}`);
  if (!written) return '';
  return written.psaId === undefined
    ? '. The PSA may have it: look there before you enter it'
    : `. The PSA has it as ${written.psaId}: do not enter it again`;
}

async function report(
  { service }: Context,
  { kind, id }: Pending,
  outcome: 'refused' | 'taken',
  reason?: string,
): Promise<void> {
  const result = await service.report(kind, id, outcome, reason);
  // The service may have deleted an old record meanwhile.
  if (!result.ok && result.error.code !== 'record_not_found') unwrap(result);
}

/** When a record was last written; 0 for never. */
export const lastWriteIn = (kv: SyncKvStorage): number =>
  Math.max(0, ...RECORD_KIND_NAMES.map((kind) => kv.get<number>(`writtenAt/${kind}`) ?? 0));

/** The streams of a kind that failed, and whose records wait. */
const failedStreams = (kv: SyncKvStorage, kind: RecordKind): Stream[] =>
  Array.from(kv.list<Stream>({ prefix: 'stream/' })).flatMap(([key, stream]) => {
    const waiting = { prefix: `${key.replace('stream', 'waiting')}/`, limit: 1 };
    return key.endsWith(`/${kind}`) && Array.from(kv.list(waiting)).length > 0 ? [stream] : [];
  });

/** Why records of one kind of one key are tried only every 15 minutes; undefined if none wait for that. */
export function pauseIn(kv: SyncKvStorage): { reason: string; isStopped: boolean } | undefined {
  for (const kind of RECORD_KIND_NAMES)
    for (const stream of failedStreams(kv, kind)) {
      const last = stream.refusals.at(-1);
      if (!last || !isPaused(stream)) continue;
      const what = RECORD_KINDS[kind].scopeLabel.toLowerCase();
      const reason = `The PSA refuses every record of a key (${what}), so only one is tried every 15 minutes. The last one: ${last.message}`;
      return { reason, isStopped: lastWriteIn(kv) < last.at };
    }
  return undefined;
}

/** What prevents records of one kind that wait, until one of that kind is written. */
export const failureIn = (kv: SyncKvStorage): string | undefined =>
  RECORD_KIND_NAMES.flatMap((kind) => {
    const failure = kv.get<string>(`failure/${kind}`);
    return failure !== undefined && failedStreams(kv, kind).length > 0 ? [failure] : [];
  })[0];
