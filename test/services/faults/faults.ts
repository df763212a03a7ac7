import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, vi } from 'vitest';
import { aroundD1 } from '../../support/d1.ts';
import { aroundLimiters } from '../../support/limiter.ts';
import { makeApi, UNLIMITED } from '../../support/world.ts';

/**
 * Part of the message of each injected error, as SQL and bound values are in real ones: no response
 * may show it.
 */
const SENTINEL = 'insert into "notes" … values (hunter2)';

/** One way in which a call fails. */
export interface Fault {
  name: string;
  /**
   * What the message means: a transient failure, which is worth a retry; an overloaded service; a
   * rejected statement; a database that takes no writes; or nothing that we understand. A `hang`
   * never responds.
   */
  kind: 'transient' | 'overloaded' | 'rejected' | 'read_only' | 'unknown' | 'hang';
  message: string;
  /**
   * When the call is carried out although it fails: before the failure, or long after the response
   * was sent.
   */
  runs?: 'before' | 'later' | undefined;
  /** More properties of the error. */
  properties?: Record<string, unknown>;
  /** The table at which the database itself rejects an insert, and with it the whole batch. */
  rejects?: 'record' | 'audit_log';
}

const fault = (kind: Fault['kind'], message: string, more: Partial<Fault> = {}): Fault => {
  const when = more.runs === undefined ? '' : `, carried out ${more.runs}`;
  return { name: `${message}${when}`, kind, message, ...more };
};

/** The messages with which D1 fails. */
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
  hang: ['no response'],
} as const;
const d1Faults = (kind: Fault['kind'], runs?: Fault['runs']) =>
  D1_MESSAGES[kind].map((message) => fault(kind, message, { runs }));

/** Faults of a read, or of a batch that has nothing to commit. */
export const READ_FAULTS: readonly Fault[] = (
  ['transient', 'overloaded', 'rejected', 'read_only', 'unknown', 'hang'] as const
).flatMap((kind) => d1Faults(kind));

/**
 * Faults of a batch that writes: before it runs, in its middle, after its commit, and if it runs
 * after its caller stopped waiting.
 */
export const BATCH_FAULTS: readonly Fault[] = [
  ...READ_FAULTS,
  fault('rejected', 'a rejected record', { rejects: 'record' }),
  fault('rejected', 'a rejected audit row', { rejects: 'audit_log' }),
  ...(['transient', 'unknown', 'hang'] as const).flatMap((kind) => [
    ...d1Faults(kind, 'before'),
    ...d1Faults(kind, 'later').slice(0, 1),
  ]),
];

export const LIMITER_FAULTS: readonly Fault[] = [
  fault('transient', 'Network connection lost.'),
  fault('transient', 'Durable Object storage operation exceeded timeout which caused object to be reset.', {
    properties: { retryable: true },
  }),
  fault('overloaded', 'Durable Object is overloaded. Too many requests queued.', { properties: { overloaded: true } }),
  fault('hang', 'no response'),
];

/** A lost connection. */
export const [LOST = fault('transient', '')] = READ_FAULTS;
/** A connection that is lost after the call was carried out. */
export const LOST_ACKNOWLEDGEMENT: Fault = { ...LOST, runs: 'before' };

/**
 * The calls that a request makes: to the limiters of its address and of its key, to the nearest copy
 * of the database, and to the primary with one statement or several.
 */
export type Call = 'ip' | 'key' | 'near' | 'read' | 'batch';

/** The longest pause before a retry. */
const LONGEST_PAUSE_MS = 150;
const { setTimeout: realSetTimeout } = globalThis;

/** Waits for some real time, whatever the faked clock says. */
export const realTime = (ms = 0) => new Promise<void>((resolve) => realSetTimeout(resolve, ms));

/** Fakes the clock, and keeps the log of the failures out of the output, in each test of a file. */
export function withFakeClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
    for (const level of ['warn', 'error'] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
}

/**
 * Bindings whose calls fail as `choose` says. Needs `withFakeClock`: the clock advances only by
 * the time that the faults take, so that a test does not wait for a deadline of ten seconds, and no
 * call that succeeds comes too late.
 */
export class Faults {
  /** The number of calls that failed. */
  injected = 0;
  /** The fault of the next call, or undefined for a call that succeeds. */
  choose: (call: Call) => Fault | undefined = () => undefined;
  private later: (() => Promise<unknown>)[] = [];
  private running: Promise<unknown>[] = [];
  private calls = 0;

  private readonly bindings: Pick<Env, 'DB' | 'RATE_LIMITER'>;

  constructor(db: D1Database = env.DB) {
    this.bindings = {
      DB: aroundD1(db, (run, statements, _, isNearby) =>
        this.call(isNearby ? 'near' : statements === 1 ? 'read' : 'batch', run),
      ),
      RATE_LIMITER: aroundLimiters(env.RATE_LIMITER, (take, name) =>
        this.call(name.startsWith('ip:') ? 'ip' : 'key', take),
      ),
    };
  }

  /** An app in an isolate of its own, whose calls fail. */
  makeApi() {
    return makeApi({ agents: true, config: UNLIMITED, bindings: this.bindings });
  }

  /** Ends the faults: waits for calls that still run, and carries out those that were postponed. */
  async end(): Promise<void> {
    this.choose = () => undefined;
    await Promise.allSettled(this.running.splice(0));
    for (const run of this.later.splice(0)) await run();
  }

  private call<T>(call: Call, run: () => Promise<T>): Promise<T> {
    this.calls += 1;
    const chosen = this.choose(call);
    const result = chosen ? this.fail(chosen, run) : run();
    // A call that hangs never ends.
    if (chosen?.kind !== 'hang') this.running.push(result);
    return result;
  }

  private async fail<T>(chosen: Fault, run: () => Promise<T>): Promise<T> {
    this.injected += 1;
    if (chosen.rejects) return await rejecting(chosen.rejects, run);
    if (chosen.runs === 'before') await run();
    if (chosen.runs === 'later') this.later.push(run);
    if (chosen.kind === 'hang') {
      this.fireTimers(this.calls);
      return await new Promise<never>(() => undefined);
    }
    realSetTimeout(() => {
      if (vi.isFakeTimers()) vi.advanceTimersByTime(LONGEST_PAUSE_MS);
    }, 0);
    throw Object.assign(new Error(`D1_ERROR: ${chosen.message} ${SENTINEL}`), chosen.properties);
  }

  /** Until this call has met its deadline and another begins. A request's timer may fire before, for an earlier call. */
  private fireTimers(call: number): void {
    realSetTimeout(() => {
      if (this.calls !== call || !vi.isFakeTimers() || vi.getTimerCount() === 0) return;
      vi.advanceTimersToNextTimer();
      this.fireTimers(call);
    }, 0);
  }
}

/** Makes the database reject every insert into these tables while something runs. */
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
