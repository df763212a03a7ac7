import { withoutKeys } from '../domain/api-key.ts';
import type { FieldError } from '../domain/fields.ts';
import type { AppEnv, ContextOf } from './context.ts';

interface ProblemKind {
  status: number;
  title: string;
  /** What it means, and what to do: for the reader of /docs/problems, one sentence each. */
  meaning: string;
  remedy: string;
}

/** Every error the API answers with a code, in order of status. The 401 has none: see `unauthorized`. */
export const PROBLEMS = {
  malformed_json: {
    status: 400,
    title: 'The body is not JSON',
    meaning: 'The body cannot be read as JSON, often because a quote or a line break inside a text was not escaped.',
    remedy: 'Let the tool build the JSON instead of writing it by hand; the detail says where it stops being JSON.',
  },
  invalid_encoding: {
    status: 400,
    title: 'The body is not UTF-8',
    meaning: 'The body is UTF-16, or holds bytes that are not UTF-8.',
    remedy: 'Encode the JSON text as UTF-8 before sending it; Windows PowerShell does not do so by itself.',
  },
  invalid_idempotency_key: {
    status: 400,
    title: 'The Idempotency-Key is not usable',
    meaning:
      'The Idempotency-Key is empty, longer than 255 characters, sent twice, or holds a space, a character that is not visible ASCII, an API key, or an event id that came out empty (`triage:`, `triage:undefined`, `triage:{{eventId}}`).',
    remedy:
      'Send one value such as `triage:evt-20418`, with an id from a field of the event that always has a value, or leave the header out.',
  },
  psa_not_included: {
    status: 403,
    title: 'The plan does not include PSA',
    meaning: "The key is good, but its organization's plan does not include PSA.",
    remedy: 'Ask an administrator to add PSA to the plan; sending again does not help.',
  },
  not_found: {
    status: 404,
    title: 'No such address',
    meaning: 'There is nothing at this path, often because the ticket id in it came out empty.',
    remedy: 'Compare the path with the reference, and look at what the tool put in place of the ticket id.',
  },
  ticket_not_found: {
    status: 404,
    title: 'No such ticket',
    meaning: 'The organization of this key has no ticket with this id.',
    remedy: "Check the id; a ticket of another organization needs that organization's key.",
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The address exists, but not for this method.',
    remedy: 'Use the method that the `Allow` header names: POST for notes and time entries.',
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    meaning: 'The body is larger than 512 KiB.',
    remedy: 'Shorten the text; 32,000 characters is the most a note or description holds.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body is not sent as JSON',
    meaning:
      'The Content-Type is missing or is not `application/json`, the charset is not UTF-8, or the body is compressed.',
    remedy: 'Send `Content-Type: application/json` and the plain body.',
  },
  validation_failed: {
    status: 422,
    title: 'The body does not fit',
    meaning: 'The body is JSON, but fields are missing, unknown or of the wrong kind.',
    remedy: 'Correct every field named in `errors`, then send again; the same Idempotency-Key is still free.',
  },
  technician_not_eligible: {
    status: 422,
    title: 'Not an active technician',
    meaning: 'userEmail is not the address of an active technician of the organization.',
    remedy:
      'Correct it, or send again without userEmail and with the same Idempotency-Key: the service account is credited.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    meaning: 'More requests than the limit of the key or of the source address admits; `violated-policies` says which.',
    remedy: 'Wait the seconds in `Retry-After`, then send the same request with the same Idempotency-Key.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    meaning: 'A fault on our side; whether something was written is not known.',
    remedy: 'With an Idempotency-Key send the same request again; if it stays that way, tell us the requestId.',
  },
  unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    meaning:
      'The database did not answer or takes no writes, or the operator has paused the service; nothing was written.',
    remedy: 'Wait the seconds in `Retry-After`, then send the same request again.',
  },
  outcome_unknown: {
    status: 503,
    title: 'Outcome unknown',
    meaning: 'The database did not confirm the write, so the record may exist.',
    remedy: 'With an Idempotency-Key send the same request again; without one, look at the ticket first.',
  },
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof PROBLEMS;

/** Registered in the IANA HTTP problem types registry. */
const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';
interface Extras {
  headers?: Record<string, string>;
  /** Further members of the problem object. */
  members?: { errors?: FieldError[]; 'violated-policies'?: string[] };
}

/** Thrown anywhere in http/ to respond with a problem. `detail` is one plain sentence that names the field and the remedy. */
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

/** The `type` of a problem: where it is explained. */
export function problemType(code: ProblemCode): string {
  return code === 'rate_limited' ? QUOTA_EXCEEDED : `/docs/problems#${code}`;
}

/** Responds with application/problem+json (RFC 9457). */
export function problem(
  c: ContextOf<AppEnv>,
  code: ProblemCode,
  detail: string,
  { headers = {}, members = {} }: Extras = {},
): Response {
  const { status, title } = PROBLEMS[code];
  c.get('requestStats').problem = code;
  const body = { type: problemType(code), title, status, code, detail, requestId: c.get('requestId'), ...members };
  const { keyPrefix } = c.get('config');
  // A detail may repeat what was sent, and people paste keys where they do not belong.
  const text = JSON.stringify(body, (_, value: unknown) =>
    typeof value === 'string' ? withoutKeys(value, keyPrefix) : value,
  );
  return new Response(text, {
    status,
    headers: { ...headers, 'Content-Type': 'application/problem+json' },
  });
}

/** The body of the one response to everything that is wrong with a key. */
export const UNAUTHORIZED_PROBLEM = { type: 'about:blank', title: 'Unauthorized', status: 401 } as const;
const UNAUTHORIZED_BODY = JSON.stringify(UNAUTHORIZED_PROBLEM);

/** The 401: constant, so that a prober learns nothing. */
export function unauthorized(): Response {
  return new Response(UNAUTHORIZED_BODY, {
    status: 401,
    headers: { 'Content-Type': 'application/problem+json', 'WWW-Authenticate': 'Bearer' },
  });
}

/** What to do about a 401, in order: the response itself never says which it is. */
export const UNAUTHORIZED_STEPS = [
  'ping works but a write is 401: the key lacks the scope for it.',
  "ping is 401: send `Authorization: Bearer <key>`; in n8n choose 'Bearer Auth' and enter the key only.",
  'Still 401: ask your administrator for Refused uses of the key.',
  'Nothing there: the value is truncated, or it belongs to another environment.',
] as const;
