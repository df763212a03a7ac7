import { DurableObject } from 'cloudflare:workers';
import { parseReceiver, type Receiver } from '../../config.ts';
import { seqOf } from '../../domain/change.ts';
import { hasCode } from '../../domain/errors.ts';
import type { PostOutcome } from '../../domain/post-outcome.ts';
import type { ChangesPage } from '../../domain/psa-shapes.ts';
import { timeOrderedId } from '../../domain/record-id.ts';
import { log } from '../../lib/log.ts';
import { query } from '../../services/call-d1.ts';
import { deliver } from '../../services/post.ts';
import type { ServiceContext } from '../../services/service-context.ts';
import { listChanges, MAX_CHANGES } from '../../services/work/list-changes.ts';
import { type PushRow, savePush } from './push-statements.ts';
import {
  afterFailure,
  grownLimit,
  isLongFailure,
  NEW_PAGE_BYTES,
  type PushFailure,
  pushMessage,
  REPEATED_PAGE_BYTES,
  smallerLimit,
} from './rules.ts';

/** The deadline of one call to D1. */
const D1_DEADLINE_MS = 10_000;
/** An order to resume does nothing for this time after an attempt began. */
const RESUME_INTERVAL_MS = 10_000;
/** The alarm ends after this number of pages, and another one continues. */
const PAGES_PER_ALARM = 20;
const STATE = 'state';

interface State {
  organization: string;
  /** The cursor of the last change that was confirmed; null for none. */
  cursor: string | null;
  /** The last `seq` of the page that was sent before and not confirmed; null if there is none. */
  pageEnd: number | null;
  /** How many changes a page may have, since one was too large for the receiver. Missing: the largest. */
  limit?: number;
  failure: PushFailure | null;
  /** When the receiver refused all further messages, in UTC milliseconds. */
  stoppedAt: number | null;
}

/**
 * Pushes the changes of one organization to the receiver, page by page and in order. The object
 * stores how far the receiver has confirmed, and moves on only when it confirms a page. The end of a
 * page is stored before the page is sent, so that it is sent with the same range and the same id
 * until it is confirmed, even after a crash. Only a page that is too large for the receiver is followed by
 * its first half, under another id. All work is done in the alarm: the runtime runs it again
 * if the object dies, and never twice at a time. The database has a copy of the state, which may be
 * older; the feed itself decides which changes are sent.
 */
export class Pusher extends DurableObject<Env> {
  /** Counts orders: an attempt that began before one says nothing about the state after it. */
  private orders = 0;
  /** When this object last began to send a page, in UTC milliseconds. */
  private attemptedAt = 0;
  /** The confirmed `seq` in the database's copy; undefined if that is not known. */
  private savedSeq: number | undefined;

  /** Has the object look for changes soon, unless it waits after a failure or is stopped. */
  async wake(organization: string): Promise<void> {
    if (!parseReceiver(this.env)) return;
    const state = this.load() ?? this.store(newState(organization));
    if (state.stoppedAt !== null) return;
    // During a backoff, an alarm is due at its end.
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(Date.now());
  }

  /** Deletes the storage if the organization was erased, even if the push is stopped. */
  async forgetErased(): Promise<void> {
    const state = this.load();
    if (state) await this.read(state, this.orders);
  }

  /**
   * Ends a stop and the pause after a failure: the next attempt is made immediately, and later pauses are short again.
   * Returns whether it did. Does nothing if there is neither, or if the last attempt began less than 10 s ago.
   */
  async resume(organization: string): Promise<boolean> {
    if (Date.now() < this.attemptedAt + RESUME_INTERVAL_MS) return false;
    const before = this.load();
    if (!before?.failure) {
      // After a restore of the database, its copy may show a stop that is over.
      await this.wake(organization);
      await this.save(this.load() ?? newState(organization));
      return false;
    }
    const failure = { ...before.failure, attempts: 0, nextAttemptAt: null };
    const state = this.store({ ...before, failure, stoppedAt: null });
    this.orders += 1;
    await this.ctx.storage.setAlarm(Date.now());
    await this.save(state);
    return true;
  }

  override async alarm(): Promise<void> {
    const target = parseReceiver(this.env);
    if (!target) return;
    try {
      for (let pages = 0; pages < PAGES_PER_ALARM; pages++) if (!(await this.pushPage(target))) return;
      await this.ctx.storage.setAlarm(Date.now());
    } catch (err) {
      const state = this.load();
      if (state) await this.fail(state, { failure: 'internal error', retryAfterMs: 0 }, err);
    }
  }

  /** Sends one page. Returns whether there may be another one to send now. */
  private async pushPage(target: Receiver): Promise<boolean> {
    const state = this.load();
    if (!state || state.stoppedAt !== null) return false;
    const { organization } = state;
    const orders = this.orders;
    const page = await this.read(state, orders);
    if (page === 'again') return true;
    if (page === 'ended') return false;
    const last = page.changes.at(-1);
    if (!last) {
      if (this.savedSeq !== seqOf(state.cursor)) await this.save(state);
      return false;
    }
    if (state.pageEnd !== last.seq) this.store({ ...state, pageEnd: last.seq });
    const sentAt = Date.now();
    this.attemptedAt = sentAt;
    const outcome = await deliver(target, await pushMessage(organization, page.changes, sentAt));
    const count = page.changes.length;
    if (outcome.result === 'confirmed') {
      await this.confirm(last, page.more, { count, ms: Date.now() - sentAt });
      return page.more;
    }
    if (this.orders !== orders) return true;
    if (outcome.result === 'gone') await this.stop(outcome);
    else await this.fail(withSmallerPage(this.load() ?? state, outcome, count), outcome);
    return false;
  }

  /** The next page; `again` if the state has changed; `ended` if this alarm can do nothing more. */
  private async read(state: State, orders: number): Promise<ChangesPage | 'again' | 'ended'> {
    const { organization, cursor, pageEnd } = state;
    // A page that was sent before keeps its range, so that the receiver gets it under the same id.
    const limit = pageEnd === null ? (state.limit ?? MAX_CHANGES) : pageEnd - seqOf(cursor);
    const maxBytes = pageEnd === null ? NEW_PAGE_BYTES : REPEATED_PAGE_BYTES;
    try {
      return await listChanges(context(this.env.DB), { organization, cursor, limit }, maxBytes);
    } catch (err) {
      if (this.orders !== orders) return 'again';
      if (hasCode(err, 'organization_not_found') || hasCode(err, 'being_erased')) {
        await this.ctx.storage.deleteAlarm();
        await this.ctx.storage.deleteAll();
        return 'ended';
      }
      if (hasCode(err, 'cursor_reset')) {
        log('warn', 'push_restarted', { organization, confirmedSeq: seqOf(state.cursor) });
        this.store({ ...state, cursor: null, pageEnd: null });
        return 'again';
      }
      if (!hasCode(err, 'unavailable')) throw err;
      await this.fail(state, { failure: 'the database did not respond', retryAfterMs: 0 }, err);
      return 'ended';
    }
  }

  private async confirm(
    last: { cursor: string },
    more: boolean,
    { count, ms }: { count: number; ms: number },
  ): Promise<void> {
    const state = this.load();
    if (!state) return;
    const { organization, failure } = state;
    const limit = state.limit === undefined ? {} : { limit: grownLimit(state.limit, count, ms) };
    const confirmed = this.store({ ...state, cursor: last.cursor, pageEnd: null, ...limit, failure: null });
    if (failure) {
      const { attempts, since } = failure;
      log('log', 'push_recovered', { organization, attempts, failedMs: Date.now() - since });
    }
    if (failure || !more) await this.save(confirmed);
  }

  private async fail(
    state: State,
    failed: Pick<Extract<PostOutcome, { result: 'failed' }>, 'failure' | 'retryAfterMs'>,
    cause?: unknown,
  ): Promise<void> {
    const { organization } = state;
    const now = Date.now();
    const failure = afterFailure(state.failure, failed, now, Math.random());
    const { attempts, since, nextAttemptAt } = failure;
    const failing = this.store({ ...state, failure });
    await this.ctx.storage.setAlarm(nextAttemptAt);
    const level = isLongFailure(since, failed, now) ? 'error' : 'warn';
    const line = { organization, failure: failure.failure, attempts, failedMs: now - since };
    log(level, 'push_failed', { ...line, nextAttemptMs: nextAttemptAt - now, cause });
    await this.save(failing);
  }

  private async stop({ failure }: { failure: string }): Promise<void> {
    const state = this.load();
    if (!state) return;
    const now = Date.now();
    const { since, attempts } = state.failure ?? { since: now, attempts: 0 };
    const last = { since, attempts: attempts + 1, failure, nextAttemptAt: null };
    const stopped = this.store({ ...state, failure: last, stoppedAt: now });
    log('error', 'push_stopped', { organization: state.organization, failure, attempts: last.attempts });
    await this.save(stopped);
  }

  private load(): State | undefined {
    return this.ctx.storage.kv.get<State>(STATE);
  }

  private store(state: State): State {
    this.ctx.storage.kv.put(STATE, state);
    return state;
  }

  /** A failure is only logged: the push job wakes the object once more. */
  private async save(state: State): Promise<void> {
    const row = rowOf(state);
    this.savedSeq = undefined;
    try {
      await query(context(this.env.DB), 'safe_to_repeat', (db) =>
        savePush(db, { ...row, organizationId: state.organization }),
      );
      this.savedSeq = row.confirmedSeq;
    } catch (err) {
      log('warn', 'push_state_not_saved', { organization: state.organization, cause: err });
    }
  }
}

function context(db: D1Database): ServiceContext {
  const now = Date.now();
  return { db, now: Date.now, deadlineAt: now + D1_DEADLINE_MS, requestId: timeOrderedId(now) };
}

function newState(organization: string): State {
  return { organization, cursor: null, pageEnd: null, failure: null, stoppedAt: null };
}

/** The state after a page of `count` changes failed. If it was too large, its first half is the next page. */
function withSmallerPage(state: State, { isTooLarge }: { isTooLarge: boolean }, count: number): State {
  if (!isTooLarge || count === 1) return state;
  const failure = state.failure && { ...state.failure, attempts: 0 };
  return { ...state, pageEnd: null, limit: smallerLimit(count), failure };
}

function rowOf({ cursor, failure, stoppedAt }: State): PushRow {
  return {
    confirmedSeq: seqOf(cursor),
    failingSince: failure?.since ?? null,
    attempts: failure?.attempts ?? 0,
    failure: failure?.failure ?? null,
    nextAttemptAt: failure?.nextAttemptAt ?? null,
    stoppedAt,
  };
}
