import { createRemoteJWKSet, type JWTVerifyGetKey } from 'jose';
import { isKeyPrefix, KEY_PREFIX_RULE } from './domain/api-key.ts';
import { parseBlockedKeys } from './domain/blocked-keys.ts';
import { DEFAULT_DATABASE_LIMIT, parseDatabaseLimit } from './domain/database-limit.ts';
import { parseDayLimit } from './domain/day-limit.ts';
import { parseJurisdiction } from './domain/jurisdiction.ts';
import { parseRequestLimit } from './domain/request-limit.ts';
import { parseKeepDays } from './domain/retention.ts';
import { parseContactAddresses, parseExpires, type SecurityContact } from './domain/security-contact.ts';
import { parseTicketUrl } from './domain/ticket-url.ts';
import { parseWebhookSecrets, parseWebhookUrl } from './domain/webhook.ts';
import { parseSecureUrl } from './lib/loopback.ts';

/** The core's variables. A deployment has those that differ from their defaults, which are below. */
export const VARIABLES = [
  'KEY_PREFIX',
  'JURISDICTION',
  'IP_LIMIT',
  'KEY_LIMIT',
  'KEY_DAY_LIMIT',
  'ORGANIZATION_DAY_LIMIT',
  'ADMIN_ISSUER',
  'ADMIN_AUDIENCE',
  'ADMIN_JWKS_URL',
  'ADMIN_TOKEN_HEADER',
  'DATABASE_LIMIT',
  'KEEP_DAYS',
  'TICKET_URL',
  'WEBHOOK_URL',
  'SERVICE_URL',
  'SUPPORT_URL',
  'SECURITY_CONTACT',
  'SECURITY_EXPIRES',
] as const;

/** The core's secrets. BLOCKED_KEYS and MODE are switched without a deployment. */
export const SECRETS = ['BLOCKED_KEYS', 'MODE', 'WEBHOOK_SECRET'] as const;

export const DEFAULT_KEY_PREFIX = 'twb';

type Variables = Partial<Record<(typeof VARIABLES | typeof SECRETS)[number], string>>;

declare global {
  // Wrangler generates the types of the bindings alone.
  interface Env extends Variables {}
  namespace Cloudflare {
    interface Env extends Variables {}
  }
}

/** What a module reads when it starts: a deployment may lack any binding. */
export type Bindings = { readonly [Name in keyof Env]?: Env[Name] | undefined } & Readonly<Record<string, unknown>>;

export function parseConfig(vars: Variables) {
  const { KEY_PREFIX: keyPrefix = DEFAULT_KEY_PREFIX } = vars;
  if (!isKeyPrefix(keyPrefix)) throw new Error(`KEY_PREFIX is "${keyPrefix}"; it must ${KEY_PREFIX_RULE}`);
  const read = reader(vars);
  return {
    keyPrefix,
    /** Where the Durable Objects are. Undefined: near their first caller. */
    jurisdiction: read('JURISDICTION', parseJurisdiction),
    ipLimit: read('IP_LIMIT', parseRequestLimit, '1200/10s'),
    keyLimit: read('KEY_LIMIT', parseRequestLimit, '200/10s'),
    dayLimits: {
      key: read('KEY_DAY_LIMIT', parseDayLimit, '20000/64MB'),
      organization: read('ORGANIZATION_DAY_LIMIT', parseDayLimit, '100000/256MB'),
    },
    /** Keys that always get a 401, regardless of the database. */
    blockedKeys: read('BLOCKED_KEYS', (text) => parseBlockedKeys(text, keyPrefix)),
    /** `paused`: the API responds with 503. Settings area, documentation, `/psa` and adapters keep working. */
    mode: read('MODE', parseMode),
    databaseLimit: read('DATABASE_LIMIT', parseDatabaseLimit, DEFAULT_DATABASE_LIMIT),
    /** For how many days records are kept at least. Undefined: permanently. */
    keepDays: read('KEEP_DAYS', parseKeepDays),
    signIn: parseSignIn(vars),
    /** The PSA's receiver of messages: changes and alerts. Undefined: nothing is sent to it. */
    receiver: parseReceiver(vars),
    /** The origin of this service, for links. Undefined: there are none. */
    serviceUrl: read('SERVICE_URL', parseServiceUrl),
    /** The address of a ticket in the PSA, for links in the settings area. Undefined: there are none. */
    ticketUrl: read('TICKET_URL', parseTicketUrl),
    /** Where callers ask for help. Undefined: at the operator, whom they have to know. */
    supportUrl: read('SUPPORT_URL', parseContactAddresses)[0],
    /** Whom to tell of a vulnerability. Undefined: there is no security.txt. */
    securityContact: parseSecurityContact(vars),
  };
}

/** The configuration of a deployment. `allowPlainHttp`: for local runs, which accept plain HTTP from other machines. */
export type Config = ReturnType<typeof parseConfig> & { allowPlainHttp?: boolean };

/**
 * A function that parses one variable. A missing one has the default, which is empty for most. A parser throws a
 * RangeError that names the text and the rule.
 */
export function reader<Name extends string>(vars: { readonly [N in Name]?: unknown }) {
  return <T>(name: Name, parse: (text: string) => T, defaultText = ''): T => {
    const value = vars[name];
    try {
      return parse(typeof value === 'string' ? value : defaultText);
    } catch (err) {
      throw err instanceof RangeError ? new Error(`${name}: ${err.message}`) : err;
    }
  };
}

export type Receiver = NonNullable<ReturnType<typeof parseReceiver>>;

/** Parses the receiver of messages, from WEBHOOK_URL and WEBHOOK_SECRET. @throws Error as `parseConfig` */
export function parseReceiver(vars: Variables) {
  const read = reader(vars);
  const url = read('WEBHOOK_URL', parseWebhookUrl);
  const secrets = read('WEBHOOK_SECRET', parseWebhookSecrets);
  if (url !== undefined && secrets.length === 0)
    throw new Error('WEBHOOK_SECRET is empty; set it, because every delivery to WEBHOOK_URL is signed');
  return url === undefined ? undefined : { url, secrets };
}

function parseSecurityContact(vars: Variables): SecurityContact | undefined {
  const read = reader(vars);
  const addresses = read('SECURITY_CONTACT', parseContactAddresses);
  const expires = read('SECURITY_EXPIRES', parseExpires);
  if (addresses.length === 0) return undefined;
  if (expires === undefined)
    throw new Error('SECURITY_EXPIRES is empty; set the day until which SECURITY_CONTACT is valid, such as 2027-06-30');
  return { addresses, expires };
}

function parseServiceUrl(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href) return url.origin;
  throw new RangeError(`"${text}" is not an origin; write scheme and host, such as https://tickets.example`);
}

/** The error does not repeat the value of MODE: as a secret, it may be a key pasted by mistake. */
export function parseMode(text: string): 'open' | 'paused' {
  const mode = text.trim();
  if (mode === 'paused') return mode;
  if (mode === 'open' || mode === '') return 'open';
  throw new RangeError('its value is not a mode; write open or paused');
}

/** The signed tokens (JWT, RFC 7519) that identify an administrator. */
export type SignIn = NonNullable<ReturnType<typeof parseSignIn>>;

/** How long one read of the issuer's signing keys may take. */
const KEYS_TIMEOUT_MS = 3_000;

const ACCESS_HEADER = 'Cf-Access-Jwt-Assertion';

function parseSignIn({
  ADMIN_ISSUER: issuer,
  ADMIN_AUDIENCE: audience,
  ADMIN_JWKS_URL,
  ADMIN_TOKEN_HEADER,
}: Variables) {
  if (!issuer && !audience) return undefined;
  if (!issuer || !audience)
    throw new Error(`ADMIN_${issuer ? 'AUDIENCE' : 'ISSUER'} is empty; set both issuer and audience, or neither`);
  const address = ADMIN_JWKS_URL || `${issuer.replace(/\/$/, '')}/cdn-cgi/access/certs`;
  const parse = (text: string) => parseSecureUrl(text, 'no request can have one');
  const url = reader({ ADMIN_JWKS_URL: address })('ADMIN_JWKS_URL', parse);
  // The request header with the token, alone or after `Bearer`.
  const header = ADMIN_TOKEN_HEADER || ACCESS_HEADER;
  // A token as in RFC 9110 §5.6.2.
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(header)) throw new Error(`ADMIN_TOKEN_HEADER: "${header}" is not a header name`);
  const signOutPath = header === ACCESS_HEADER ? '/cdn-cgi/access/logout' : undefined;
  const keys: JWTVerifyGetKey = createRemoteJWKSet(url, { timeoutDuration: KEYS_TIMEOUT_MS });
  return { issuer, audience, header, keys, signOutPath };
}
