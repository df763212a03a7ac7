import { MAX_TEXT } from './common.ts';

const max = MAX_TEXT.toLocaleString('en');

/** Frequent mistakes, with the rule that avoids each of them, for every tool. */
export const RULES: readonly (readonly [question: string, answer: string])[] = [
  [
    'What should the Idempotency-Key be?',
    '`<workflow>:<event id>`, such as `triage:evt-20418`. Use the same value each time you process the same event, and take the event ID from a field that always has a value: a request whose event ID came out empty is refused.',
  ],
  [
    'What should it not be?',
    'A ticket number (the second entry for a ticket would be lost), an execution ID, or a new value for each attempt (each attempt would write again).',
  ],
  ['How do I write a second entry for the same event?', 'Append `:2`: `triage:evt-20418:2`.'],
  [
    'Which requests can I retry?',
    'Every POST with an Idempotency-Key. Retry after 429, 500, 503 and lost connections, with the same Idempotency-Key and the same body. Wait for the seconds in `Retry-After`, or 10 seconds if the header is missing.',
  ],
  [
    'What do I do about `daily_limit_reached`?',
    'Do not wait within the run: `Retry-After` can be hours, until midnight. Let the run fail, and send the same requests with the same Idempotency-Keys on the next day, or ask an administrator.',
  ],
  [
    'Which requests should not be retried automatically?',
    'Requests that failed with any other 4xx. The response will be the same. Fix what `detail` describes; you can reuse the same Idempotency-Key.',
  ],
  [
    'What do I do about `idempotencyMismatch` in a 200?',
    'Treat it as a failure: a different request used this Idempotency-Key before, so nothing was written now. Check that the event ID identifies one event.',
  ],
  [
    'What do I do about `technician_not_eligible`?',
    'Send the same request without userEmail and with the same Idempotency-Key. The entry is credited to the automation service account, and an administrator can reassign it.',
  ],
  [
    'How do I shorten a long log?',
    `Cut it to ${max} characters, counted as Unicode code points: \`Array.from(text).slice(0, ${MAX_TEXT}).join('')\` in JavaScript, \`.[0:${MAX_TEXT}]\` in jq, \`text[:${MAX_TEXT}]\` in Python. If you cut by bytes or UTF-16 units, you can split a character, and the request is refused.`,
  ],
  [
    'What happens to a retry after midnight?',
    "The work date of an entry is the day it is written, in the organization's time zone. An entry that arrives after midnight gets the next work date.",
  ],
  [
    'Where do I store the key?',
    "In the tool's credential store or in an environment variable. Never put it in a flow that is exported or shared.",
  ],
];
