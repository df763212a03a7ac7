import type { FieldError } from '../domain/fields.ts';
import { jsonWithoutKeys } from '../domain/pasted-keys.ts';
import type { AppEnv, ContextOf } from './hono-env.ts';

const SECONDS = { min: 4, max: 8 };

export const RETRY_AFTER_503 = `a random number from ${SECONDS.min} to ${SECONDS.max}, so that not all callers return at the same time`;

/** Random, because the callers that an overloaded database refuses would otherwise return together. */
export function retryAfter503(random: () => number = Math.random): { 'Retry-After': string } {
  const { min, max } = SECONDS;
  return { 'Retry-After': String(min + Math.floor(random() * (max - min + 1))) };
}

/** Who can fix a problem, in the words of /docs/errors. */
export const FIXED_BY = {
  you: 'You',
  administrator: 'An administrator',
  provider: 'The provider of your PSA',
  operator: 'The operator',
} as const;

interface ProblemKind {
  status: number;
  title: string;
  /** What it means, and what to do: for readers of /docs/errors, one sentence each. */
  meaning: string;
  remedy: string;
  fixedBy: keyof typeof FIXED_BY;
}

/** Every problem that has a code, by status. The 401 has none: see `unauthorized`. */
export const PROBLEMS = {
  malformed_json: {
    status: 400,
    title: 'Malformed JSON',
    meaning: 'The body cannot be parsed as JSON, often because a quote or a line break inside a string is not escaped.',
    remedy: 'Let your tool build the JSON instead of writing it by hand; the detail shows where the body is invalid.',
    fixedBy: 'you',
  },
  invalid_encoding: {
    status: 400,
    title: 'The body is not UTF-8',
    meaning: 'The body is UTF-16, or contains bytes that are not UTF-8.',
    remedy: 'Encode the JSON text as UTF-8 before sending it; Windows PowerShell does not do this automatically.',
    fixedBy: 'you',
  },
  invalid_idempotency_key: {
    status: 400,
    title: 'Invalid Idempotency-Key',
    meaning:
      'The Idempotency-Key is empty, longer than 255 characters, sent twice, or contains a space, a character that is not visible ASCII, an API key, or an event id that came out empty (`triage:`, `triage:undefined`, `triage:{{eventId}}`).',
    remedy:
      'Send one value such as `triage:evt-20418`, with an id from a field of the event that always has a value, or omit the header.',
    fixedBy: 'you',
  },
  https_required: {
    status: 403,
    title: 'HTTPS is required',
    meaning: 'The request came over plain HTTP, so others on the network could read the key in it.',
    remedy: 'Use the `https://` address, and ask an administrator to replace the key.',
    fixedBy: 'you',
  },
  psa_not_included: {
    status: 403,
    title: 'Write-back is not enabled',
    meaning: 'The key is valid, but write-back is not enabled for its organization.',
    remedy: 'Ask the provider of your ticketing system (PSA) to enable it; a retry does not help.',
    fixedBy: 'provider',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    meaning: 'There is nothing at this path, often because the ticket id in it is empty.',
    remedy: 'Compare the path with the reference, and check what your tool inserted as the ticket id.',
    fixedBy: 'you',
  },
  ticket_not_found: {
    status: 404,
    title: 'Ticket not found',
    meaning: 'The organization of this key has no ticket with this id.',
    remedy: "Check the id; a ticket of another organization needs that organization's key.",
    fixedBy: 'you',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path exists, but does not support this method.',
    remedy: 'Use a method from the `Allow` header: POST for notes and time entries.',
    fixedBy: 'you',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    meaning: 'The body is larger than 512 KiB.',
    remedy: 'Shorten the text; a note or description has at most 32,000 characters.',
    fixedBy: 'you',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    meaning:
      'The Content-Type is missing or is not `application/json`, the charset is not UTF-8, or the body is compressed.',
    remedy: 'Send `Content-Type: application/json` and an uncompressed body.',
    fixedBy: 'you',
  },
  validation_failed: {
    status: 422,
    title: 'Validation failed',
    meaning: 'The body is JSON, but fields are missing, unknown or invalid.',
    remedy:
      'Correct every field listed in `errors` and send the request again; the same Idempotency-Key is still unused.',
    fixedBy: 'you',
  },
  technician_not_eligible: {
    status: 422,
    title: 'Not an active technician',
    meaning: 'userEmail is not the address of an active technician of the organization.',
    remedy:
      'Correct it, or send the request again without userEmail and with the same Idempotency-Key to credit the service account.',
    fixedBy: 'you',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    meaning: 'The key or the source address exceeded its limit; `violated-policies` shows which.',
    remedy: 'Wait the number of seconds in `Retry-After`, then send the same request with the same Idempotency-Key.',
    fixedBy: 'you',
  },
  daily_limit_reached: {
    status: 429,
    title: 'Daily limit reached',
    meaning:
      'The key, or its organization, has used up what it may write in a day; `violated-policies` shows which, and nothing was written.',
    remedy:
      "Wait the number of seconds in `Retry-After`, until midnight in the organization's time zone, then send the same request with the same Idempotency-Key; replays still get their record.",
    fixedBy: 'administrator',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    meaning: 'An unexpected error on our side; the record may or may not have been written.',
    remedy:
      'With an Idempotency-Key, send the same request again; if the error persists, report the requestId to the operator.',
    fixedBy: 'operator',
  },
  unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    meaning:
      'The database did not respond or does not accept writes, or the operator paused the service; nothing was written.',
    remedy: `Wait the number of seconds in \`Retry-After\` (${RETRY_AFTER_503}; 60 while the service is paused), then send the same request again.`,
    fixedBy: 'operator',
  },
  outcome_unknown: {
    status: 503,
    title: 'Outcome unknown',
    meaning: 'The database did not confirm the write, so the record may exist.',
    remedy: 'With an Idempotency-Key, send the same request again; without one, check the ticket first.',
    fixedBy: 'you',
  },
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof PROBLEMS;

/** From the IANA registry of HTTP problem types. */
const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';
interface Extras {
  headers?: Record<string, string>;
  members?: { errors?: FieldError[]; 'violated-policies'?: string[] };
}

/** Thrown in http/ to respond with a problem. `detail` explains what is wrong and what to do. */
export class Problem extends Error {
  override name = 'Problem';
  readonly code: ProblemCode;
  readonly detail: string;
  readonly extras: Extras;
  constructor(code: ProblemCode, detail: string, extras: Extras = {}) {
    super(`${code}: ${detail}`);
    this.code = code;
    this.detail = detail;
    this.extras = extras;
  }
}

/** The arguments of a `Problem`, for a response that is not thrown: `problem(c, ...arguments)`. */
export type ProblemArguments = ConstructorParameters<typeof Problem>;

/** The address of a problem's explanation, absolute, so that users can open it from the log of a tool. */
export function problemType(code: ProblemCode, url: string): string {
  if (PROBLEMS[code].status === 429) return QUOTA_EXCEEDED;
  // With two Host headers, the URL cannot be parsed: then the type is relative.
  const origin = URL.canParse(url) ? new URL(url).origin : '';
  return `${origin}/docs/errors#${code}`;
}

export function problem(
  c: ContextOf<AppEnv>,
  code: ProblemCode,
  detail: string,
  { headers = {}, members = {} }: Extras = {},
): Response {
  const { status, title } = PROBLEMS[code];
  c.get('requestStats').problem = code;
  const type = problemType(code, c.req.url);
  const body = { type, title, status, code, detail, requestId: c.get('requestId'), ...members };
  const { keyPrefixes } = c.get('config');
  // A detail may repeat the caller's input, and users paste keys into wrong fields.
  return new Response(jsonWithoutKeys(body, keyPrefixes), {
    status,
    headers: { ...headers, 'Content-Type': 'application/problem+json' },
  });
}

/** The body of the 401, which is the same for everything that is wrong with a key. */
export const UNAUTHORIZED_PROBLEM = { type: 'about:blank', title: 'Unauthorized', status: 401 } as const;
const UNAUTHORIZED_BODY = JSON.stringify(UNAUTHORIZED_PROBLEM);

/** The constant 401. `challenge` is the scheme that the path expects (RFC 9110 §11.6.1). */
export function unauthorized(challenge = 'Bearer'): Response {
  return new Response(UNAUTHORIZED_BODY, {
    status: 401,
    headers: { 'Content-Type': 'application/problem+json', 'WWW-Authenticate': challenge },
  });
}

/** How to find the cause of a 401, in order: the response itself never shows it. */
export const UNAUTHORIZED_STEPS = [
  'Ping works but a write gets a 401: the key lacks the scope for it.',
  "Ping gets a 401: send `Authorization: Bearer <key>`; in n8n choose 'Bearer Auth' and enter only the key.",
  'Still a 401: ask your administrator to look for the key under Refused uses.',
  'No entry there: the key value is truncated, or it belongs to another environment.',
] as const;

/** The 404 for a path without an endpoint. */
export function endpointNotFound(): ProblemArguments {
  return ['not_found', 'There is no API endpoint at this path; check the path.'];
}

/** The 405 for a path whose endpoint supports only other methods. */
export function methodNotAllowedProblem(method: string, supported: readonly string[]): ProblemArguments {
  const allow = supported.join(', ');
  return [
    'method_not_allowed',
    `${method} is not supported at this path; use ${allow}.`,
    { headers: { Allow: allow } },
  ];
}
