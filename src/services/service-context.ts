import type { FoundKey, Principal } from '../domain/api-key.ts';
import type { DayLimits } from '../domain/day-limit.ts';
import type { RecordKind } from '../domain/record-kinds.ts';
import type { SignedMessage } from '../domain/webhook.ts';
import type { Deadlines } from '../lib/deadline.ts';

/** Counts the calls to D1, for the request log. */
export interface D1Counter {
  d1Calls: number;
}

/** What a call to D1 needs to know about its caller. */
export interface D1Caller {
  /** UTC milliseconds of the machine's own clock until which a response is awaited. */
  readonly deadlineAt: number;
  /** The timer of the request. Without it, each call has its own. */
  readonly deadlines?: Deadlines | undefined;
  readonly stats?: D1Counter | undefined;
  /** For a local database that another program may lock: try a locked call again. */
  readonly waitsForLock?: boolean | undefined;
  /** How often the call is made at most. Default: 3. */
  readonly maxAttempts?: number | undefined;
}

/** What optional modules do for the services of the core. */
export interface Ports {
  /**
   * Called after a commit that added to an organization's changes, or erased it. It must not throw. Without it, no
   * receiver is set.
   */
  changed?: ((organizationId: string) => void) | undefined;
  /** Acts on an organization's push immediately. Without it, nothing is pushed. */
  pushControl?: PushControl | undefined;
}

/** Which record is redacted, and who asked for it. */
export interface RedactionRequest {
  organization: string;
  kind: RecordKind;
  id: string;
  by: string;
}

/** Controls an organization's push, with an audit row. Throws `unavailable`. */
export interface PushControl {
  /** Ends a stop, or the pause after a failure. `unchanged`: there was neither, or an attempt began less than 10 s ago. */
  resume(ctx: ServiceContext, target: AuditTarget): Promise<{ status: 'resumed' | 'unchanged' }>;
}

export interface ServiceContext extends Ports, D1Caller {
  db: D1Database;
  /** The clock (UTC milliseconds). Read it just before it matters, not once at the start. */
  now: () => number;
  requestId: string;
  /** The size in bytes at which the database is full. Without it, no fact is about the size. */
  databaseLimit?: number | undefined;
}

/** The context of a service that acts for an actor. The tenant is always the actor's, never one from the input. */
interface ActorContext<Actor> extends ServiceContext {
  actor: Actor;
  /** Where the request came from, as recorded in the audit log. */
  source: Source;
}

export type AdminContext = ActorContext<AdminActor>;

/** A `SystemActor` is trusted with all organizations and names one in each call. */
export type SystemContext = ActorContext<SystemActor>;

export interface DirectoryContext extends ServiceContext {
  actor: SystemActor;
  message?: SignedMessage | undefined;
}

export interface WriteContext extends ActorContext<Principal> {
  dayLimits: DayLimits;
  /** Without it, no write waits for its ticket. */
  ticketWaits?: TicketWaits | undefined;
  /**
   * Called once the database has checked the key for the response: in the batch of the write, or in the explanation why
   * nothing was written, with the key that it has, if any.
   */
  onDecided: (key?: FoundKey) => void;
  /** Gets how much of its daily limit of records the key has used, once the database has said so. */
  onKeyDay: (use: KeyDayUse) => void;
}

/** The writes of one isolate that wait for a ticket. */
export interface TicketWaits {
  /** Takes one of a key's places. Returns the function that frees it, or undefined if none is free. */
  enter: (key: string, now: number) => (() => void) | undefined;
  sleep: (ms: number) => Promise<void>;
}

/** How many of the records that a key may write in a day it has written. */
export interface KeyDayUse {
  quota: number;
  used: number;
  /** Milliseconds until midnight in the organization's time zone. */
  resetMs: number;
}

export interface Source {
  address: string | null;
  userAgent: string | null;
}

/** A signed-in administrator of one organization. */
interface AdminActor {
  organizationId: string;
  userId: string;
}

/** The PSA's own software or an operator: not a user of an organization. */
export type SystemActor = 'psa' | 'operator';

/** Whose change it is, for the audit log. */
export interface AuditTarget {
  organizationId: string;
  /** `name`: who asked for the change, as given by the operator or the PSA. */
  actor: { type: 'api_key' | 'user'; id: string } | { type: 'system'; id: SystemActor; name: string };
  source: Source;
}

/** The deadline of one page of an export, and of one chunk of a job, in milliseconds. */
const NEXT_CALL_DEADLINE_MS = 30_000;

/** One page of an export, which is read page by page. */
export interface ExportPage<Item> {
  items: readonly Item[];
  /** Where the export continues after this page; undefined at its end. */
  next: string | undefined;
}

/** The context for the next page of an export or chunk of a job, which takes as many as there are. */
export function forNextCall<Context extends ServiceContext>(ctx: Context): Context {
  return { ...ctx, deadlineAt: Date.now() + NEXT_CALL_DEADLINE_MS };
}
