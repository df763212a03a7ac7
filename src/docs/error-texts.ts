import { type ProblemCode, RETRY_AFTER_503 } from '../http/problems.ts';

/** Who can fix an error. */
export const FIXED_BY = {
  you: 'You',
  administrator: 'An administrator',
  provider: 'The provider of your PSA',
  operator: 'The operator',
} as const;

interface ErrorText {
  /** The meaning, and the remedy: one sentence each. */
  meaning: string;
  remedy: string;
  fixedBy: keyof typeof FIXED_BY;
}

/** The explanation of each error, for readers of the documentation. */
export const ERROR_TEXTS: Readonly<Record<ProblemCode, ErrorText>> = {
  malformed_json: {
    meaning: 'The body cannot be parsed as JSON, often because a quote or a line break inside a string is not escaped.',
    remedy: 'Let your tool build the JSON instead of writing it by hand; the detail shows where the body is invalid.',
    fixedBy: 'you',
  },
  invalid_encoding: {
    meaning: 'The body is UTF-16, or contains bytes that are not UTF-8.',
    remedy: 'Encode the JSON text as UTF-8 before sending it; Windows PowerShell does not do this automatically.',
    fixedBy: 'you',
  },
  invalid_idempotency_key: {
    meaning:
      'The Idempotency-Key is empty, longer than 255 characters, sent twice, or contains a space, a character that is not visible ASCII, an API key, or an event id that came out empty (`triage:`, `triage:undefined`, `triage:{{eventId}}`).',
    remedy:
      'Send one value such as `triage:evt-20418`, with an id from a field of the event that always has a value, or omit the header.',
    fixedBy: 'you',
  },
  https_required: {
    meaning: 'The request came over plain HTTP, so others on the network could read the key in it.',
    remedy: 'Use the `https://` address, and ask an administrator to replace the key.',
    fixedBy: 'you',
  },
  psa_not_included: {
    meaning: 'The key is valid, but write-back is not enabled for its organization.',
    remedy: 'Ask the provider of your ticketing system (PSA) to enable it; a retry does not help.',
    fixedBy: 'provider',
  },
  not_found: {
    meaning: 'There is nothing at this path, often because the ticket id in it is empty.',
    remedy: 'Compare the path with the reference, and check what your tool inserted as the ticket id.',
    fixedBy: 'you',
  },
  ticket_not_found: {
    meaning: 'There is no ticket with this id in the organization of the key.',
    remedy: "Check the id; a ticket of another organization needs that organization's key.",
    fixedBy: 'you',
  },
  method_not_allowed: {
    meaning: 'The path exists, but does not support this method.',
    remedy: 'Use a method from the `Allow` header: POST for notes and time entries.',
    fixedBy: 'you',
  },
  body_too_large: {
    meaning: 'The body is larger than 512 KiB.',
    remedy: 'Shorten the text; a note or description has at most 32,000 characters.',
    fixedBy: 'you',
  },
  unsupported_media_type: {
    meaning:
      'The Content-Type is missing or is not `application/json`, the charset is not UTF-8, or the body is compressed.',
    remedy: 'Send `Content-Type: application/json` and an uncompressed body.',
    fixedBy: 'you',
  },
  validation_failed: {
    meaning: 'The body is JSON, but fields are missing, unknown or invalid.',
    remedy:
      'Correct every field listed in `errors` and send the request again; the same Idempotency-Key is still unused.',
    fixedBy: 'you',
  },
  technician_not_eligible: {
    meaning: 'userEmail is not the address of an active technician of the organization.',
    remedy:
      'Correct it, or send the request again without userEmail and with the same Idempotency-Key to credit the service account.',
    fixedBy: 'you',
  },
  rate_limited: {
    meaning: 'The key or the source address exceeded its limit; `violated-policies` shows which.',
    remedy: 'Wait the number of seconds in `Retry-After`, then send the same request with the same Idempotency-Key.',
    fixedBy: 'you',
  },
  daily_limit_reached: {
    meaning:
      'The key, or its organization, has reached its limit for a day; `violated-policies` shows which, and nothing was written.',
    remedy:
      "Wait the number of seconds in `Retry-After`, until midnight in the organization's time zone, then send the same request with the same Idempotency-Key; replays still get their record.",
    fixedBy: 'administrator',
  },
  internal_error: {
    meaning: 'An unexpected error on our side; the record may or may not have been written.',
    remedy:
      'With an Idempotency-Key, send the same request again; if the error persists, report the requestId to the operator.',
    fixedBy: 'operator',
  },
  unavailable: {
    meaning:
      'The database did not respond or does not accept writes, or the operator paused the service; nothing was written.',
    remedy: `Wait the number of seconds in \`Retry-After\` (${RETRY_AFTER_503}; 60 while the service is paused), then send the same request again.`,
    fixedBy: 'operator',
  },
  outcome_unknown: {
    meaning: 'The database did not confirm the write, so the record may exist.',
    remedy: 'With an Idempotency-Key, send the same request again; without one, check the ticket first.',
    fixedBy: 'you',
  },
};
