import { env } from 'cloudflare:workers';
import { vi } from 'vitest';
import { aroundD1 } from './d1.ts';
import { aroundLimiters } from './limiter.ts';

/**
 * Stands in the message of each injected error, as SQL and bound values do in real ones: no answer
 * may show it.
 */
export const SENTINEL = 'insert into "notes" … values (hunter2)';

/** One way in which a call fails. */
export interface Fault {
  name: string;
  /**
   * What the message says: worth another try, not begun, a statement that failed, that nothing is
   * written at all, or nothing that is understood. A `hang` says nothing, ever.
   */
  says: 'transient' | 'overloaded' | 'rejected' | 'read_only' | 'unknown' | 'hang';
  message: string;
  /**
   * Whether the call does its work all the same: before it fails, or long after the request was
   * answered.
   */
  works?: 'before' | 'later' | undefined;
  /** Further properties of the error. */
  properties?: Record<string, unknown>;
  /** The table at which the database itself rejects a statement, and with it the whole batch. */
  rejects?: 'record' | 'audit_log';
}

const fault = (says: Fault['says'], message: string, more: Partial<Fault> = {}): Fault => {
  const { works } = more;
  const when = works === 'before' ? ', the work done' : works === 'later' ? ', the work done later' : '';
  return { name: `${message}${when}`, says, message, ...more };
};

/** How D1 fails, by its own messages. */
const D1_MESSAGES = {
  transient: [
    'Network connection lost.',
    'Internal error while starting up D1 DB storage caused object to be reset.',
    'D1 DB storage operation exceeded timeout which caused object to be reset.',
    'D1 DB reset because its code was updated.',
  ],
  overloaded: [
    'D1 DB is overloaded. Requests queued for too long.',
    'D1 DB is overloaded. Too many requests queued.',
    'database is locked: SQLITE_BUSY',
  ],
  rejected: ['CHECK constraint failed: minutes: SQLITE_CONSTRAINT'],
  read_only: ['database or disk is full: SQLITE_FULL', 'Exceeded maximum DB size.'],
  unknown: ['internal error; reference = 0a1b2c3d4e5f', 'disk I/O error: SQLITE_IOERR'],
  hang: ['no answer at all'],
} as const;
const d1Faults = (says: Fault['says'], works?: Fault['works']) =>
  D1_MESSAGES[says].map((message) => fault(says, message, { works }));

/** Of a read, or of a batch that has nothing to commit. */
export const READ_FAULTS: readonly Fault[] = (
  ['transient', 'overloaded', 'rejected', 'read_only', 'unknown', 'hang'] as const
).flatMap((says) => d1Faults(says));

/**
 * Of a batch that writes: before it ran, in its middle, after its commit, and when it runs after
 * nobody waits for it any more.
 */
export const BATCH_FAULTS: readonly Fault[] = [
  ...READ_FAULTS,
  fault('rejected', 'a rejected record', { rejects: 'record' }),
  fault('rejected', 'a rejected audit row', { rejects: 'audit_log' }),
  ...(['transient', 'unknown', 'hang'] as const).flatMap((says) => [
    ...d1Faults(says, 'before'),
    ...d1Faults(says, 'later').slice(0, 1),
  ]),
];

export const LIMITER_FAULTS: readonly Fault[] = [
  fault('transient', 'Network connection lost.'),
  fault('transient', 'Durable Object storage operation exceeded timeout which caused object to be reset.', {
    properties: { retryable: true },
  }),
  fault('overloaded', 'Durable Object is overloaded. Too many requests queued.', { properties: { overloaded: true } }),
  fault('hang', 'no answer at all'),
];

export const [LOST = fault('transient', '')] = READ_FAULTS;
export const LOST_ACKNOWLEDGEMENT: Fault = { ...LOST, works: 'before' };

/**
 * The kinds of calls that a request makes: to the limiter of its address and of its key, and to D1.
 */
export type Call = 'ip' | 'key' | 'read' | 'batch';
/** Which fault, if any, the next call of this kind meets. */
export type Chooser = (call: Call) => Fault | undefined;

/** The longest pause before something is tried again. */
const LONGEST_PAUSE_MS = 150;
const { setTimeout: realSetTimeout } = globalThis;

/** A moment of real time, whatever the clock is made to say. */
export const realTime = (ms = 0) => new Promise<void>((resolve) => realSetTimeout(resolve, ms));

/**
 * Bindings whose calls meet faults. Wants `vi.useFakeTimers`: time stands still but for what the
 * faults take, so that waiting for ten seconds costs nothing, and no call that does its work ever
 * comes too late.
 */
export class Faults {
  /** How many calls have failed so far. */
  injected = 0;
  choose: Chooser = () => undefined;
  private later: (() => Promise<unknown>)[] = [];
  private running: Promise<unknown>[] = [];

  readonly bindings = {
    DB: aroundD1(env.DB, (run, statements) => this.meet(statements === 1 ? 'read' : 'batch', run)),
    RATE_LIMITER: aroundLimiters(env.RATE_LIMITER, (take, name) =>
      this.meet(name.startsWith('ip:') ? 'ip' : 'key', take),
    ),
  };

  /**
   * No fault any more; what was to be done later is done now, and what nobody waited for comes to
   * its end.
   */
  async end(): Promise<void> {
    this.choose = () => undefined;
    await Promise.allSettled(this.running.splice(0));
    for (const run of this.later.splice(0)) await run();
  }

  private meet<T>(call: Call, run: () => Promise<T>): Promise<T> {
    const met = this.choose(call);
    const answer = met ? this.fail(met, run) : run();
    // A hanging call never ends by itself.
    if (met?.says !== 'hang') this.running.push(answer);
    return answer;
  }

  private async fail<T>(met: Fault, run: () => Promise<T>): Promise<T> {
    this.injected += 1;
    if (met.rejects) return await rejecting(met.rejects, run);
    if (met.works === 'before') await run();
    if (met.works === 'later') this.later.push(run);
    if (met.says === 'hang') {
      // The next timer is the one that ends the waiting.
      realSetTimeout(() => vi.advanceTimersToNextTimer(), 0);
      return await new Promise<never>(() => undefined);
    }
    realSetTimeout(() => vi.advanceTimersByTime(LONGEST_PAUSE_MS), 0);
    throw Object.assign(new Error(`D1_ERROR: ${met.message} ${SENTINEL}`), met.properties);
  }
}

/** Lets the database itself reject every insert into these tables while something runs. */
async function rejecting<T>(table: 'record' | 'audit_log', run: () => Promise<T>): Promise<T> {
  const tables = table === 'record' ? ['notes', 'time_entries'] : [table];
  const triggers = tables.map((name) => ({
    name: `reject_${name}_${crypto.randomUUID().replaceAll('-', '')}`,
    table: name,
  }));
  await env.DB.batch(
    triggers.map(({ name, table }) =>
      env.DB.prepare(`create trigger ${name} before insert on ${table} begin select raise(abort, '${SENTINEL}'); end`),
    ),
  );
  try {
    return await run();
  } finally {
    await env.DB.batch(triggers.map(({ name }) => env.DB.prepare(`drop trigger ${name}`)));
  }
}
