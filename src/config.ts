import type { JWTVerifyGetKey } from 'jose';
import { type BlockedKeys, parseBlockedKeys } from './domain/blocked-keys.ts';
import { type IpLimitOverride, parseIpLimitOverrides } from './domain/ip-limit-overrides.ts';
import { parsePolicy, type RateLimitPolicy } from './domain/rate-limit.ts';
import { remoteKeySet } from './lib/remote-key-set.ts';

/** The configuration of a deployment, parsed once from the variables in wrangler.toml and the operator's secrets. */
export interface Config {
  /** What a key value starts with, without the underscore. */
  keyPrefix: string;
  ipLimit: RateLimitPolicy;
  /** Other limits for addresses in certain networks, the most specific first. */
  ipLimitOverrides: readonly IpLimitOverride[];
  keyLimit: RateLimitPolicy;
  /** Keys that get a 401 whatever the database says. */
  blockedKeys: BlockedKeys;
  /** Paused: the API answers 503 and touches nothing. The settings area, the documentation and the bindings keep working. */
  mode: 'open' | 'paused';
  /** For local runs only: the API also answers plain HTTP from other machines. */
  allowPlainHttp?: boolean;
  /** How administrators sign in; undefined if it is not configured, and then no one can. */
  signIn?: SignIn | undefined;
}

/** The signed tokens (JWT, RFC 7519) that name an administrator. */
export interface SignIn {
  issuer: string;
  audience: string;
  /** The request header that holds the token, alone or after `Bearer`. */
  header: string;
  /** The issuer's public keys. */
  keys: JWTVerifyGetKey;
  /** The path for signing out, on this host. */
  signOutPath: string | undefined;
}

interface Variables
  extends Pick<
    Env,
    | 'KEY_PREFIX'
    | 'IP_LIMIT'
    | 'IP_LIMIT_OVERRIDES'
    | 'KEY_LIMIT'
    | 'ADMIN_ISSUER'
    | 'ADMIN_AUDIENCE'
    | 'ADMIN_JWKS_URL'
    | 'ADMIN_TOKEN_HEADER'
  > {
  // Secrets, so that they can be switched without a deployment. A variable in wrangler.toml would block the name.
  BLOCKED_KEYS?: string;
  MODE?: string;
}

/**
 * Parses the configuration.
 * @throws Error naming the variable and the rule: a deployment with a wrong variable must not start.
 */
export function parseConfig(vars: Variables): Config {
  if (!/^[a-z][a-z0-9]{1,15}$/.test(vars.KEY_PREFIX ?? '')) {
    throw new Error(
      `KEY_PREFIX is "${vars.KEY_PREFIX}"; it takes 2 to 16 lower-case letters and digits, beginning with a letter`,
    );
  }
  /** Parses one variable; a missing one counts as empty. */
  const read = <T>(name: Exclude<keyof Variables, 'KEY_PREFIX'>, parse: (text: string) => T): T => {
    try {
      return parse(vars[name] ?? '');
    } catch (err) {
      throw err instanceof RangeError ? new Error(`${name}: ${err.message}`) : err;
    }
  };
  return {
    keyPrefix: vars.KEY_PREFIX,
    ipLimit: read('IP_LIMIT', parsePolicy),
    ipLimitOverrides: read('IP_LIMIT_OVERRIDES', parseIpLimitOverrides),
    keyLimit: read('KEY_LIMIT', parsePolicy),
    blockedKeys: read('BLOCKED_KEYS', (text) => parseBlockedKeys(text, vars.KEY_PREFIX)),
    mode: read('MODE', parseMode),
    signIn: parseSignIn(vars),
  };
}

/** MODE is a secret, so its value is not repeated in the error: it may be a key that was pasted by mistake. */
function parseMode(text: string): Config['mode'] {
  const mode = text.trim();
  if (mode === 'paused') return mode;
  if (mode === 'open' || mode === '') return 'open';
  throw new RangeError('its value is not a mode; write open or paused');
}

/** The header in which Cloudflare Access sends its token: the preset. */
const ACCESS_HEADER = 'Cf-Access-Jwt-Assertion';

function parseSignIn({
  ADMIN_ISSUER: issuer,
  ADMIN_AUDIENCE: audience,
  ADMIN_JWKS_URL,
  ADMIN_TOKEN_HEADER,
}: Variables): SignIn | undefined {
  if (!issuer && !audience) return undefined;
  if (!issuer || !audience)
    throw new Error(`ADMIN_${issuer ? 'AUDIENCE' : 'ISSUER'} is empty; set both issuer and audience, or neither`);
  const address = ADMIN_JWKS_URL || `${issuer.replace(/\/$/, '')}/cdn-cgi/access/certs`;
  if (!URL.canParse(address))
    throw new Error(
      `ADMIN_JWKS_URL: "${address}" is not an address; write https://… where the issuer publishes its keys`,
    );
  const header = ADMIN_TOKEN_HEADER || ACCESS_HEADER;
  // A token in the sense of RFC 9110 §5.6.2.
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(header))
    throw new Error(`ADMIN_TOKEN_HEADER: "${header}" is not the name of a header`);
  const signOutPath = header === ACCESS_HEADER ? '/cdn-cgi/access/logout' : undefined;
  return { issuer, audience, header, keys: remoteKeySet(new URL(address)), signOutPath };
}
