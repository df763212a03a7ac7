import type { D1Counter } from '../db/client.ts';
import type { Principal } from '../domain/principal.ts';

/** What every verb is given. */
export interface ServiceContext {
  db: D1Database;
  /** The clock: UTC milliseconds. Read it just before it matters, not once at the beginning. */
  now: () => number;
  /** UTC milliseconds of the machine's own clock after which no answer is waited for. */
  deadlineAt: number;
  requestId: string;
  /** Where calls to D1 are counted, if anybody wants to know. */
  calls?: D1Counter | undefined;
}

/** What the parts of the daily job are given. */
export type JobContext = Pick<ServiceContext, 'db' | 'now' | 'deadlineAt'>;

/** Where a request came from, as the audit log keeps it. */
export interface Source {
  address: string | null;
  userAgent: string | null;
}

/** What the verbs of the API are given: the organization they act in is the principal's, never one from the input. */
export interface ApiContext extends ServiceContext {
  principal: Principal;
  source: Source;
}

/** What the verbs are given that show an organization to its administrator. */
export interface OrganizationContext extends ServiceContext {
  organizationId: string;
}

/** What the verbs are given by which an administrator changes something. */
export interface AdminContext extends OrganizationContext {
  /** The administrator's user id. */
  actorId: string;
  source: Source;
}

/** What the verbs are given that the PSA's own software or an operator calls: no user of an organization, and trusted with all of them. */
export interface SystemContext extends ServiceContext {
  system: 'psa' | 'operator';
}
