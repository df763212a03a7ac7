import type { D1Counter } from '../db/call.ts';

export type { D1Counter } from '../db/call.ts';

/** What every verb is given. */
export interface ServiceContext {
  db: D1Database;
  /** The clock: UTC milliseconds. Read it just before it matters, not once at the start. */
  now: () => number;
  /** UTC milliseconds of the machine's own clock after which no response is awaited. */
  deadlineAt: number;
  requestId: string;
  /** Counts the calls to D1, for the request log. */
  stats?: D1Counter | undefined;
}

/**
 * What a verb is given that acts for somebody. The organization is the actor's, never one from the input: for the API the actor is a
 * `Principal`, in the settings area an `AdminActor`. A `SystemActor` is trusted with all organizations and names one in each call.
 */
export interface ActorContext<Actor> extends ServiceContext {
  actor: Actor;
  /** Where the request came from, as the audit log keeps it. */
  source: Source;
}

export interface Source {
  address: string | null;
  userAgent: string | null;
}

/** A signed-in administrator of one organization. */
export interface AdminActor {
  organizationId: string;
  userId: string;
}

/** The PSA's own software or an operator: no user of an organization. */
export type SystemActor = 'psa' | 'operator';

/** How long a long export waits for one of its pages, in milliseconds. */
const PAGE_DEADLINE_MS = 10_000;

/** The context for the next page of an export, which takes as long as its reader does: each page has its own deadline. */
export function forNextPage<Context extends ServiceContext>(ctx: Context): Context {
  return { ...ctx, deadlineAt: Date.now() + PAGE_DEADLINE_MS };
}
