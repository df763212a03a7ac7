import type { HonoRequest } from 'hono';
import { createRemoteJWKSet, type JWTVerifyGetKey } from 'jose';
import type { D1Counter } from './db/client.ts';
import { type BlockedKeys, parseBlockedKeys } from './domain/blocked-keys.ts';
import { ExpiringMap } from './domain/expiring-map.ts';
import { type IpLimitOverride, parseIpLimitOverrides } from './domain/ip-limit-overrides.ts';
import { nearestName } from './domain/nearest-name.ts';
import type { FoundKey, Principal } from './domain/principal.ts';
import { parsePolicy, type RateLimitDecision, type RateLimitPolicy } from './domain/rate-limit.ts';
import type { Administration } from './services/administrators.ts';
import type { Source } from './services/context.ts';

/** The deployment's settings, read once from the variables in wrangler.toml and the operator's secrets. */
export interface Settings {
  /** What a key value starts with, without the underscore. */
  keyPrefix: string;
  ipLimit: RateLimitPolicy;
  /** Other limits for addresses in certain networks, the most specific first. */
  ipLimitOverrides: readonly IpLimitOverride[];
  keyLimit: RateLimitPolicy;
  /** Keys that are answered 401 whatever the database says. */
  blockedKeys: BlockedKeys;
  /** Paused: the API answers 503 and touches nothing; the settings area, the documentation and the bindings go on. */
  mode: 'open' | 'paused';
  /** How administrators sign in; undefined when it is not configured, and then nobody does. */
  signIn?: SignIn | undefined;
}

/** Whose signed tokens (JWT, RFC 7519) name an administrator, and where they come. */
export interface SignIn {
  issuer: string;
  audience: string;
  /** The request header with the token, alone or behind `Bearer`. */
  header: string;
  /** The issuer's public keys. */
  keys: JWTVerifyGetKey;
  /** Where signing out is done, on this host. */
  signOutPath: string | undefined;
}

/** The variables of wrangler.toml, and the secrets BLOCKED_KEYS and MODE, which are switched without a deployment. */
export const VARIABLES = [
  'KEY_PREFIX',
  'IP_LIMIT',
  'IP_LIMIT_OVERRIDES',
  'KEY_LIMIT',
  'BLOCKED_KEYS',
  'MODE',
  'ADMIN_ISSUER',
  'ADMIN_AUDIENCE',
  'ADMIN_JWKS_URL',
  'ADMIN_TOKEN_HEADER',
] as const;

type SettingsVars = Partial<Record<(typeof VARIABLES)[number], string>>;

/** The names that are no variables, each with the variable that it probably misspells, if there is one. */
export function unknownVariables(names: readonly string[]): { name: string; nearest: string | undefined }[] {
  const known = new Set<string>(VARIABLES);
  return names.filter((name) => !known.has(name)).map((name) => ({ name, nearest: nearestName(name, VARIABLES) }));
}

/**
 * Reads the settings.
 * @throws Error naming the variable and the rule: a deployment with a wrong setting must not start.
 */
export function parseSettings(vars: SettingsVars): Settings {
  const { KEY_PREFIX: keyPrefix = '' } = vars;
  if (!/^[a-z][a-z0-9]{1,15}$/.test(keyPrefix)) {
    throw new Error(`KEY_PREFIX is "${keyPrefix}"; it takes 2 to 16 lower-case letters and digits, beginning with a letter`);
  }
  /** What `parse` makes of a variable; a missing one counts as empty. */
  const read = <T>(name: keyof SettingsVars, parse: (text: string) => T): T => {
    try {
      return parse(vars[name] ?? '');
    } catch (err) {
      throw err instanceof RangeError ? new Error(`${name}: ${err.message}`) : err;
    }
  };
  return {
    keyPrefix,
    ipLimit: read('IP_LIMIT', parsePolicy),
    ipLimitOverrides: read('IP_LIMIT_OVERRIDES', parseIpLimitOverrides),
    keyLimit: read('KEY_LIMIT', parsePolicy),
    blockedKeys: read('BLOCKED_KEYS', (text) => parseBlockedKeys(text, keyPrefix)),
    mode: read('MODE', parseMode),
    signIn: parseSignIn(vars),
  };
}

/** It is a secret, so its value is not repeated: somebody may have typed a key in its place. */
function parseMode(text: string): Settings['mode'] {
  const mode = text.trim();
  if (mode === 'paused') return mode;
  if (mode === 'open' || mode === '') return 'open';
  throw new RangeError('what stands there is not a mode; write open or paused');
}

/** In which Cloudflare Access passes its token on: the preset. */
export const ACCESS_HEADER = 'Cf-Access-Jwt-Assertion';

function parseSignIn({
  ADMIN_ISSUER: issuer,
  ADMIN_AUDIENCE: audience,
  ADMIN_JWKS_URL,
  ADMIN_TOKEN_HEADER,
}: SettingsVars): SignIn | undefined {
  if (!issuer && !audience) return undefined;
  if (!issuer || !audience) throw new Error(`ADMIN_${issuer ? 'AUDIENCE' : 'ISSUER'} is empty; set both issuer and audience, or neither`);
  const address = ADMIN_JWKS_URL || `${issuer.replace(/\/$/, '')}/cdn-cgi/access/certs`;
  if (!URL.canParse(address))
    throw new Error(`ADMIN_JWKS_URL: "${address}" is not an address; write https://… where the issuer publishes its keys`);
  const header = ADMIN_TOKEN_HEADER || ACCESS_HEADER;
  // A token in the sense of RFC 9110 §5.6.2.
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(header)) throw new Error(`ADMIN_TOKEN_HEADER: "${header}" is not the name of a header`);
  const signOutPath = header === ACCESS_HEADER ? '/cdn-cgi/access/logout' : undefined;
  return { issuer, audience, header, keys: createRemoteJWKSet(new URL(address)), signOutPath };
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

/** What a request's line in the log tells that its answer does not show: filled in on the way. */
export interface RequestFacts extends D1Counter {
  /** Calls to limiter objects, repeats too. */
  limiterCalls: number;
  /** The code of the problem that was answered. */
  problem?: string;
  /** Whether the key was remembered (`warm`) or had to be read (`cold`). */
  lookup?: 'warm' | 'cold';
}

interface RequestVariables {
  memory: IsolateMemory;
  settings: Settings;
  now: () => number;
  /** UTC milliseconds of the machine's clock after which the request waits for nothing. */
  deadlineAt: number;
  requestId: string;
  source: Source;
  /** Whose limit by address the request counts against. */
  addressGroup: string;
  facts: RequestFacts;
  appliedLimit?: AppliedLimit;
  /** Set while an answer would rest on a key as it was some time ago: reads it afresh into `principal`, or throws Unauthorized. */
  confirmKey?: (() => Promise<void>) | undefined;
}

/** Reads one variable of the request. Hono's `c.var` would make an object of all of them each time it is touched. */
type Getter<Variables> = <Name extends keyof Variables>(name: Name) => Variables[Name];

/** The part of Hono's context that all routes have in common, for helpers that serve any of them. */
export interface RequestScope {
  readonly env: Env;
  readonly req: HonoRequest;
  readonly get: Getter<RequestVariables>;
}

/** The same, behind `authenticate`. */
export interface PrincipalScope extends RequestScope {
  readonly get: Getter<RequestVariables & { principal: Principal }>;
  /** Not to be read. The compiler takes one generic `get` for another, and tells the contexts apart by this alone. */
  readonly var: { readonly principal: Principal };
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

/** The environment of whoever looks at an answer: behind `authenticate` there is a principal, behind `signIn` an administrator, else neither. */
export interface ObservedEnv {
  Bindings: Env;
  Variables: RequestVariables & { principal?: Principal; administrator?: Administrator };
}

/** Whoever is signed in to the settings area, in the organization that the address names. */
export interface Administrator extends Administration {
  /** All organizations that this person administers. */
  organizations: readonly { id: string; name: string }[];
}

/** The environment of the settings pages, behind `signIn`. */
export interface SettingsEnv {
  Bindings: Env;
  Variables: RequestVariables & { administrator: Administrator };
}

/** The part of it that helpers need. */
export interface AdministratorScope extends RequestScope {
  readonly get: Getter<RequestVariables & { administrator: Administrator }>;
  readonly var: { readonly administrator: Administrator };
}
