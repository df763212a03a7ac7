import { MAX_TEXT_LENGTH } from '../../domain/fields.ts';
import type { Commands, Failure, Snippet, Step } from './recipe.ts';

// What several recipes share: the event of all examples, the steps that are the same in each tool,
// and the failures that every tool can get.

/** The event that starts the automation in all examples, without its id. */
const EVENT = {
  ticketId: '1001',
  minutes: 30,
  description: 'Cleared the print queue',
  billable: true,
};

/**
 * The event as a sender posts it to a webhook. Each recipe has ids of its own: after one recipe, the
 * first request of another is not a replay.
 */
export const eventJson = (eventId: string, more: Record<string, string> = {}) =>
  JSON.stringify({ eventId, ...EVENT, ...more }, null, 2);

/** The time entry of the event. */
export const ENTRY = `{"minutes": ${EVENT.minutes}, "description": "${EVENT.description}", "billable": ${EVENT.billable}}`;

/** The address that tests a key. */
export const pingAddress = (origin: string): Snippet => ({ label: 'Address of ping', text: `${origin}/api/v1/ping` });

/** The address of the time entries of a ticket; `ticketId` is how the tool inserts the id. */
export const timeEntries = (origin: string, ticketId = EVENT.ticketId) =>
  `${origin}/api/v1/tickets/${ticketId}/time-entries`;

export const TIME_KEY =
  'A key with the scope **Time entries**. An administrator creates it in [Settings](/settings); it is shown once.';
export const TICKET = 'The id of a ticket that you may write to. The examples use `1001`.';

/** The first step of every recipe. */
export function copyAddress(origin: string, use: string): Step {
  return {
    title: 'Copy the address of this service',
    text: [use],
    code: { label: 'Address of this service', text: origin },
  };
}

/** Keeps the key in the terminal, and out of its history. */
export const keepKey: Step = {
  title: 'Put the key into a variable',
  text: ['Run this, then paste the key and press Enter. The key does not stay in the history of the terminal.'],
  code: {
    label: 'Keep the key',
    bash: 'read -rs TICKETS_API_KEY && export TICKETS_API_KEY',
    powershell: "$env:TICKETS_API_KEY = Read-Host 'Key'",
  },
};

/** Tests the key in a terminal. */
export const pingCommands: Commands = {
  label: 'Ping',
  bash: 'curl "$TICKETS_URL/api/v1/ping" -H "Authorization: Bearer $TICKETS_API_KEY"',
  powershell:
    'Invoke-RestMethod "$env:TICKETS_URL/api/v1/ping" -Headers @{ Authorization = "Bearer $env:TICKETS_API_KEY" }',
};

export const PINGED =
  'You should see the name of your key, and its scopes. If the status is `401`, follow the [four steps](/docs/problems#unauthorized).';

/** Puts the address into a variable of the terminal. */
export const addressCommands = (origin: string): Commands => ({
  label: 'Address of this service',
  bash: `export TICKETS_URL='${origin}'`,
  powershell: `$env:TICKETS_URL = '${origin}'`,
});

/** A random value that the sender of events must know. */
export const randomToken: Commands = {
  label: 'A random value',
  bash: 'openssl rand -hex 32',
  powershell: "[guid]::NewGuid().ToString('N') + [guid]::NewGuid().ToString('N')",
};

interface Delivery {
  /** Unique in a recipe. */
  label?: string;
  url: string;
  /** What authenticates the sender. */
  header?: readonly [name: string, value: string];
  event: string;
}

/** Sends an event to the webhook of a tool. */
export function sendEvent({ label = 'Send the event', url, header, event }: Delivery): Commands {
  const [name, value] = header ?? [];
  return {
    label,
    bash: `curl -i '${url}' \\
${header ? `  -H '${name}: ${value}' \\\n` : ''}  -H 'Content-Type: application/json' \\
  -d '${event}'`,
    powershell: `Invoke-WebRequest -UseBasicParsing -Method Post '${url}' \`
${header ? `  -Headers @{ '${name}' = '${value}' } \`\n` : ''}  -ContentType 'application/json' \`
  -Body '${event}'`,
  };
}

/** Where the Idempotency-Key comes from, and what happens if it is empty. */
export const EVENT_ID_RULES = [
  'Map a field that every event has, and that has the same value when the same event is delivered again.',
  'If the field comes out empty, the response is `400` with `invalid_idempotency_key`, and nothing is written.',
];

/** The last step of every recipe. */
export function success(where: string): Step {
  return {
    title: 'See that it worked',
    text: [where],
    code: {
      label: 'Example of the response',
      text: `{
  "entry": {
    "id": "775cd2aa-72a1-89bc-b8b9-41c767f7d48e",
    "minutes": 30,
    "workDate": "2026-11-22T00:00:00.000Z",
    "status": "SUBMITTED",
    "billable": true,
    "hourlyRate": 150,
    "userId": "automation"
  },
  "agreementSource": "company_default"
}`,
    },
    after: [
      'In [Settings](/settings), open **Audit log**. The latest entry is **Time logged** on ticket `1001`, under the name of your key.',
      'If the same event comes again, the status is `200`, with `"idempotentReplay": true`, and nothing is written.',
    ],
  };
}

/** What can go wrong in every tool. */
export const FAILURES: readonly Failure[] = [
  [
    '`400` `invalid_idempotency_key`',
    'The event id came out empty: the header was `triage:`, `triage:undefined` or the like. Nothing was written. Map a field that every event has.',
  ],
  [
    '`401`',
    'The key is missing, mistyped, expired or revoked, or it has no scope for this. [Four steps](/docs/problems#unauthorized) find the cause; an administrator sees it under **Refused uses**.',
  ],
  ['`404` `not_found`', 'The ticket id came out empty, so the address has `tickets//`. Map the field again.'],
  ['`404` `ticket_not_found`', 'There is no such ticket in the organization of the key. Check the id.'],
  [
    '`422` `validation_failed`',
    'A value is missing or has the wrong type, such as `"30"` for `30`. `detail` names the field and the remedy.',
  ],
  [
    '`422` `technician_not_eligible`',
    'Send the same request without userEmail and with the same Idempotency-Key: the automation is credited.',
  ],
  ['`429` `rate_limited`', 'Send the same request again, after the seconds in `Retry-After`.'],
  ['`429` `daily_limit_reached`', 'Let the run fail, and send the request again on the next day.'],
  [
    '`200` with `"idempotencyMismatch": true`',
    'Another event used this event id before. Nothing was written now: treat it as a failure.',
  ],
];

/** The longest text, for code that cuts longer ones. */
export const MAX_TEXT = MAX_TEXT_LENGTH;
