import type { HonoRequest } from 'hono';
import type { Config } from '../config.ts';
import type { FoundKey, Principal } from '../domain/principal.ts';
import type { RateLimitDecision, RateLimitPolicy } from '../domain/rate-limit.ts';
import { ExpiringMap } from '../lib/expiring-map.ts';
import type { ActorContext, AdminActor, D1Counter, ServiceContext, Source } from '../services/context.ts';
import type { Administration } from '../services/directory/administrators.ts';
import type { KeyCheck } from './key-check.ts';

/** The caches of one isolate: bounded, and never authoritative. */
export class IsolateCaches {
  /** Keys that were good when they were read, by the hash of their value. */
  readonly keys = new ExpiringMap<FoundKey>(1_000);
  /** Limits that have refused, by object, policy and subnet, until the object would admit again. */
  readonly limitRefusals = new ExpiringMap<{ until: number }>(10_000);
}

/** A limit that a request was counted against: the source of the RateLimit fields. */
export interface AppliedLimit {
  name: 'ip' | 'key';
  policy: RateLimitPolicy;
  /** Whether addresses of several callers share the limit. */
  isNetwork?: boolean | undefined;
  decision: RateLimitDecision;
}

/** Log fields that the response does not carry. */
export interface RequestStats extends D1Counter {
  /** Calls to limiter objects, retries included. */
  limiterCalls: number;
  /** The code of the problem in the response. */
  problem?: string;
  /** Whether the key came from the isolate's cache (`warm`) or was read from D1 (`cold`). */
  lookup?: 'warm' | 'cold';
}

/** A signed-in administrator, in the organization that the address names. */
export interface Administrator extends Administration {
  /** All organizations that this person administers. */
  organizations: readonly { id: string; name: string }[];
}

interface RequestVariables {
  config: Config;
  caches: IsolateCaches;
  now: () => number;
  /** UTC milliseconds of the machine's clock after which the request awaits nothing. */
  deadlineAt: number;
  requestId: string;
  source: Source;
  /** The address group whose limit the request counts against. */
  addressGroup: string;
  requestStats: RequestStats;
  appliedLimit?: AppliedLimit;
}

/** The Hono environment of every route. Middleware that runs around others finds a principal or an administrator if there is one. */
export interface AppEnv {
  Bindings: Env;
  Variables: RequestVariables & { principal?: Principal; administrator?: Administrator };
}

/** The environment after `authenticate`: a handler that needs the principal does not compile without it. */
export interface ApiEnv {
  Bindings: Env;
  Variables: RequestVariables & { principal: Principal; keyCheck: KeyCheck };
}

/** The environment of the settings pages, after `signIn`. */
export interface AdminEnv {
  Bindings: Env;
  Variables: RequestVariables & { administrator: Administrator };
}

/**
 * The part of Hono's context that helpers read. Hono's own `Context` is invariant, so a helper for every route could not take the
 * context of an API route. `var` is never read: without it TypeScript treats every generic `get` as assignable.
 */
export interface ContextOf<E extends { Variables: object }> {
  readonly env: Env;
  readonly req: HonoRequest;
  readonly get: <Name extends keyof E['Variables']>(name: Name) => E['Variables'][Name];
  readonly var: Readonly<E['Variables']>;
}

/** What any verb needs of a request. */
export function serviceContext(c: ContextOf<AppEnv>): ServiceContext {
  return {
    db: c.env.DB,
    now: c.get('now'),
    deadlineAt: c.get('deadlineAt'),
    requestId: c.get('requestId'),
    stats: c.get('requestStats'),
  };
}

/** What the verbs of the API need; only a route after `guard` has the principal for it. */
export function apiContext(c: ContextOf<ApiEnv>): ActorContext<Principal> {
  return { ...serviceContext(c), actor: c.get('principal'), source: c.get('source') };
}

/** What the verbs of administrators need; only a page after `signIn` has the administrator for it. */
export function adminContext(c: ContextOf<AdminEnv>): ActorContext<AdminActor> {
  const { userId, organization } = c.get('administrator');
  return { ...serviceContext(c), actor: { organizationId: organization.id, userId }, source: c.get('source') };
}
