import type { HonoRequest } from 'hono';
import { ExpiringMap } from './domain/expiring-map.ts';
import type { FoundKey, Principal } from './domain/principal.ts';
import { parsePolicy, type RateLimitDecision, type RateLimitPolicy } from './domain/rate-limit.ts';

/** The deployment's settings, read once from the variables in wrangler.toml. */
export interface Settings {
  /** What a key value starts with, without the underscore. */
  keyPrefix: string;
  ipLimit: RateLimitPolicy;
  keyLimit: RateLimitPolicy;
}

/**
 * Reads the settings.
 * @throws Error naming the variable and the rule: a deployment with a wrong setting must not start.
 */
export function parseSettings(vars: Pick<Env, 'KEY_PREFIX' | 'IP_LIMIT' | 'KEY_LIMIT'>): Settings {
  if (!/^[a-z][a-z0-9]{1,15}$/.test(vars.KEY_PREFIX)) {
    throw new Error(`KEY_PREFIX is "${vars.KEY_PREFIX}"; it takes 2 to 16 lower-case letters and digits, beginning with a letter`);
  }
  const limit = (name: 'IP_LIMIT' | 'KEY_LIMIT') => {
    try {
      return parsePolicy(vars[name]);
    } catch (err) {
      throw err instanceof RangeError ? new Error(`${name}: ${err.message}`) : err;
    }
  };
  return { keyPrefix: vars.KEY_PREFIX, ipLimit: limit('IP_LIMIT'), keyLimit: limit('KEY_LIMIT') };
}

/** A limit that was asked, and what it answered: what the RateLimit fields of the answer say. */
export interface AppliedLimit {
  name: 'ip' | 'key';
  policy: RateLimitPolicy;
  decision: RateLimitDecision;
}

/** What one isolate remembers between requests, all of it bounded, none of it ever the last word. */
export class IsolateMemory {
  /** Keys seen to be good, by the hash of their value. */
  readonly keys = new ExpiringMap<FoundKey>(1_000);
  /** Limits that have refused, by object and policy, until the time at which the object would admit again. */
  readonly refusals = new ExpiringMap<{ until: number }>(10_000);
}

interface RequestVariables {
  memory: IsolateMemory;
  settings: Settings;
  now: () => number;
  /** UTC milliseconds of the machine's clock after which the request waits for nothing. */
  deadlineAt: number;
  requestId: string;
  appliedLimit?: AppliedLimit;
  /** Set while an answer would rest on a remembered key: reads the key afresh into `principal`, or throws Unauthorized. */
  confirmKey?: (() => Promise<void>) | undefined;
}

/** The part of Hono's context that all routes have in common, for helpers that serve any of them. */
export interface RequestScope {
  readonly env: Env;
  readonly req: HonoRequest;
  readonly var: Readonly<RequestVariables>;
}

/** The same, behind `authenticate`. */
export interface PrincipalScope extends RequestScope {
  readonly var: Readonly<RequestVariables & { principal: Principal }>;
}

/** Hono's environment of every route. */
export interface AppEnv {
  Bindings: Env;
  Variables: RequestVariables;
}

/** The environment behind `authenticate`: only there is a principal, so a handler that needs one compiles nowhere else. */
export interface ApiEnv {
  Bindings: Env;
  Variables: RequestVariables & { principal: Principal };
}
