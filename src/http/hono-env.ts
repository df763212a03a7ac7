import type { Context, HonoRequest } from 'hono';
import type { Config } from '../config.ts';
import type { FoundKey } from '../domain/api-key.ts';
import type { RateLimitDecision, RequestLimit } from '../domain/request-limit.ts';
import type { WebhookFault } from '../domain/webhook.ts';
import type { Deadlines } from '../lib/deadline.ts';
import { ExpiringMap } from '../lib/expiring-map.ts';
// biome-ignore lint/suspicious/noImportCycles: requests carry contributions, and contributions handle requests.
import { type Contribution, portsOf } from '../module.ts';
import type { Administration } from '../services/directory/administrators.ts';
import type {
  AdminContext,
  D1Counter,
  KeyDayUse,
  ServiceContext,
  Source,
  TicketWaits,
  WriteContext,
} from '../services/service-context.ts';
import { ticketWaits } from '../services/work/await-ticket.ts';
import type { WriteTarget } from '../services/work/create-record.ts';

/** The caches of one isolate. They are bounded and never authoritative. */
export class IsolateCaches {
  /** Keys that were valid when they were read, by the hash of their value. */
  readonly keys = new ExpiringMap<FoundKey>(1_000);
  /** Limits that have refused, by object, limit and subnet, until the object would admit again. */
  readonly limitRefusals = new ExpiringMap<number>(10_000);
  readonly ticketWaits: TicketWaits;

  constructor(sleep: TicketWaits['sleep']) {
    this.ticketWaits = ticketWaits(sleep);
  }
}

/** The limit that a request was counted against, for the RateLimit headers. */
export interface AppliedLimit {
  name: 'ip' | 'key' | 'export';
  requestLimit: RequestLimit;
  /** Whether the IP addresses of several callers share the limit. */
  isNetwork?: boolean | undefined;
  decision: RateLimitDecision;
}

/** Log fields that the response does not carry. */
interface RequestStats extends D1Counter {
  /** Whether the key came from the isolate's cache (`warm`), a replica (`near`) or the primary (`cold`). */
  lookup?: 'warm' | 'near' | 'cold';
  region?: string | undefined;
  /** Whether the key was then read from the primary. */
  readAgain?: true;
  /** Calls to limiter objects, retries included. */
  limiterCalls: number;
  problem?: string;
  /** Whether the request asks what a write would get. */
  dryRun?: true;
  /** Why a message of the PSA was not accepted. */
  messageFault?: WebhookFault;
  /** The call of a message of the PSA. */
  call?: string;
  /** The organization that a message of the PSA named. */
  organization?: string | undefined;
}

export interface Administrator extends Administration {
  /** All organizations that this person administers. */
  organizations: readonly { id: string; name: string }[];
}

interface RequestVariables {
  config: Config;
  caches: IsolateCaches;
  now: () => number;
  /** UTC milliseconds of the machine's clock until which the request awaits anything. */
  deadlineAt: number;
  /** The timer of everything that the request awaits. */
  deadlines: Deadlines;
  requestId: string;
  source: Source;
  requestStats: RequestStats;
  /** The email address of the person who is signed in to the settings area, an administrator or not. */
  signedInAs?: string;
  /** The optional modules that are on. */
  contributions: readonly Contribution[];
  appliedLimit?: AppliedLimit;
  /** The key's usage of its daily limit, on responses to writes. */
  keyDay?: KeyDayUse;
  /** The write that created nothing, because an earlier request had its Idempotency-Key. */
  lostWrite?: WriteTarget;
}

/** The Hono environment of every route. Middleware around others finds a principal or administrator if one was set. */
export interface AppEnv {
  Bindings: Env;
  Variables: RequestVariables & { principal?: FoundKey; administrator?: Administrator };
}

/** The environment after `authenticate`: without it, handlers that need a principal do not compile. */
export interface ApiEnv {
  Bindings: Env;
  Variables: RequestVariables & { principal: FoundKey; onDecided: WriteContext['onDecided'] };
}

export interface AdminEnv {
  Bindings: Env;
  Variables: RequestVariables & { administrator: Administrator };
}

/**
 * The part of Hono's context that helpers read. Hono's own `Context` is invariant, so a helper for every route could
 * not take the context of an API route. `var` is never read: without it TypeScript treats every generic `get` as
 * assignable.
 */
export interface ContextOf<E extends { Variables: object }> {
  readonly env: Env;
  readonly req: HonoRequest;
  readonly executionCtx: Pick<ExecutionContext, 'waitUntil'>;
  readonly get: <Name extends keyof E['Variables']>(name: Name) => E['Variables'][Name];
  readonly var: Readonly<E['Variables']>;
}

export function serviceContext(c: ContextOf<AppEnv>): ServiceContext {
  return {
    db: c.env.DB,
    now: c.get('now'),
    deadlineAt: c.get('deadlineAt'),
    deadlines: c.get('deadlines'),
    requestId: c.get('requestId'),
    databaseLimit: c.get('config').databaseLimit,
    stats: c.get('requestStats'),
    ...portsOf(c.get('contributions'), (work) => c.executionCtx.waitUntil(work)),
  };
}

/** The context of the API's services. Only a route after `guard` has the principal for it. */
export function writeContext(c: Context<ApiEnv>): WriteContext {
  return {
    ...serviceContext(c),
    actor: c.get('principal'),
    source: c.get('source'),
    dayLimits: c.get('config').dayLimits,
    ticketWaits: c.get('caches').ticketWaits,
    onDecided: c.get('onDecided'),
    onKeyDay: (use) => c.set('keyDay', use),
  };
}

/** The context of administrators' services. Only a page after `signIn` has the administrator for it. */
export function adminContext(c: ContextOf<AdminEnv>): AdminContext {
  const { userId, organization } = c.get('administrator');
  return {
    ...serviceContext(c),
    actor: { organizationId: organization.id, userId },
    source: c.get('source'),
  };
}
