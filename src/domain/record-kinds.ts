import * as z from 'zod/mini';
import { inThousands } from '../lib/in-thousands.ts';
import { fromKeys, keysOf } from '../lib/objects.ts';
import { emailAddress, freeText, MAX_TEXT_LENGTH, ruleError, strictObject, unquoted } from './fields.ts';

interface RecordKindEntry {
  /** The scope that a key needs to write it: its identifier, and the label that administrators see. */
  scope: string;
  scopeLabel: string;
  /** The permission of the scope, in one line. */
  scopeHelp: string;
  /** The last segment of its path: `/tickets/{ticketId}/<path>`. */
  path: string;
  /** The field of a change (domain/change.ts) that contains it. */
  changeField: string;
  /** The field and the column with the text from the caller. A redaction replaces it. */
  textField: string;
  /** Whether it counts toward the daily limit of minutes. */
  hasMinutes: boolean;
  noun: string;
  /** Its events, with the labels of the audit log. */
  auditActions: Readonly<Record<'created' | 'redacted' | 'refused' | 'taken', string>> &
    Readonly<Record<string, string>>;
  /** The body of a request, as an example. */
  exampleBody: Readonly<Record<string, string | number | boolean>>;
}

/**
 * Everything that the API can write. The name of a kind is also part of what an Idempotency-Key is unique within.
 * Whatever else differs by kind is a `Record<RecordKind, …>` in its own layer, so that a missing entry does not
 * compile.
 */
export const RECORD_KINDS = {
  note: {
    scope: 'tickets:note:write',
    scopeLabel: 'Internal notes',
    scopeHelp: 'Adds internal notes to tickets. Your PSA shows them to the team.',
    path: 'notes',
    changeField: 'note',
    textField: 'message',
    hasMinutes: false,
    noun: 'internal note',
    auditActions: {
      created: 'Internal note added',
      redacted: 'Internal note redacted',
      refused: 'Internal note refused by your PSA',
      taken: 'Internal note now in your PSA',
    },
    exampleBody: { message: 'Disk cleaned up, 40 GB free' },
  },
  time_entry: {
    scope: 'tickets:time:write',
    scopeLabel: 'Time entries',
    scopeHelp: 'Logs working time on tickets, for a technician or for the automation itself.',
    path: 'time-entries',
    changeField: 'timeEntry',
    textField: 'description',
    hasMinutes: true,
    noun: 'time entry',
    auditActions: {
      created: 'Time logged',
      approved: 'Time approved',
      rejected: 'Time rejected',
      handed_over: 'Time left to the settings area',
      redacted: 'Time entry redacted',
      refused: 'Time entry refused by your PSA',
      taken: 'Time entry now in your PSA',
    },
    exampleBody: { minutes: 15, description: 'Disk cleaned up', billable: true },
  },
} as const satisfies Record<string, RecordKindEntry>;

export type RecordKind = keyof typeof RECORD_KINDS;

export const RECORD_KIND_NAMES = keysOf(RECORD_KINDS);

export const haveMinutes = (kinds: readonly RecordKind[]) => kinds.some((kind) => RECORD_KINDS[kind].hasMinutes);

export const forEachKind = <Value>(make: (kind: RecordKind) => Value) => fromKeys(RECORD_KIND_NAMES, make);

/** What a key may be allowed to do: one scope for each kind of record. */
export type Scope = (typeof RECORD_KINDS)[RecordKind]['scope'];

/** The scopes in the order in which they are stored and shown. */
export const SCOPE_IDS: readonly Scope[] = RECORD_KIND_NAMES.map((kind) => RECORD_KINDS[kind].scope);

export function writableKinds(scopes: readonly Scope[]): RecordKind[] {
  return RECORD_KIND_NAMES.filter((kind) => scopes.includes(RECORD_KINDS[kind].scope));
}

export function scopeLabels(scopes: readonly Scope[]): string[] {
  return writableKinds(scopes).map((kind) => RECORD_KINDS[kind].scopeLabel);
}

/** Formats scopes for storage, space-separated in the order of `SCOPE_IDS` (RFC 6749 §3.3). */
export function formatScopes(scopes: readonly Scope[]): string {
  return SCOPE_IDS.filter((scope) => scopes.includes(scope)).join(' ');
}

export function parseScopes(stored: string): Scope[] {
  const held = stored.split(' ');
  return SCOPE_IDS.filter((scope) => held.includes(scope));
}

export const noteRequest = strictObject({
  message: freeText().check(
    z.meta({
      description: `The text of the note: 1 to ${inThousands(MAX_TEXT_LENGTH)} Unicode code points, not counting leading and trailing white space. Stored exactly as sent. NUL and lone surrogates are refused.`,
    }),
  ),
});

export type NoteRequest = z.output<typeof noteRequest>;

/** The minutes of a day: the most that one entry may have. */
export const MAX_MINUTES = 1440;

const minutesRule = `a whole number from 1 to ${MAX_MINUTES}`;
const isMinutes = (value: unknown) =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_MINUTES;
const minutesError = { error: ruleError(minutesRule, unquoted(isMinutes)) };

export const timeEntryRequest = strictObject({
  minutes: z
    .int(minutesError)
    .check(
      z.minimum(1, minutesError),
      z.maximum(MAX_MINUTES, minutesError),
      z.meta({ description: `Minutes worked: ${minutesRule}.` }),
    ),
  description: freeText().check(
    z.meta({
      description: `The work done: 1 to ${inThousands(MAX_TEXT_LENGTH)} Unicode code points, not counting leading and trailing white space. Stored exactly as sent. NUL and lone surrogates are refused.`,
    }),
  ),
  billable: z
    .boolean({
      error: ruleError(
        'true or false',
        unquoted((value) => typeof value === 'boolean'),
      ),
    })
    .check(z.meta({ description: 'Whether the time is billable.' })),
  // Some clients send null for optional values.
  userEmail: z.nullish(emailAddress('the email address of a technician, or leave the field out')).check(
    z.meta({
      description:
        'Credits this active technician instead of the automation service account. Case is ignored, and null is as if the field were left out.',
    }),
  ),
});

export type TimeEntryRequest = z.output<typeof timeEntryRequest>;

/** The state of an entry in the approval queue. Every entry created here starts as SUBMITTED. */
export const TIME_ENTRY_STATUSES = ['SUBMITTED', 'APPROVED', 'REJECTED'] as const;
export type TimeEntryStatus = (typeof TIME_ENTRY_STATUSES)[number];

/** The decisions of an administrator about an entry. */
export const APPROVAL_DECISIONS = ['APPROVED', 'REJECTED'] as const satisfies readonly TimeEntryStatus[];
export type ApprovalDecision = (typeof APPROVAL_DECISIONS)[number];

/** Who decides about a time entry: the administrators in the settings area, or the PSA. An entry keeps its approver. */
export const APPROVERS = ['settings', 'psa'] as const;
export type Approver = (typeof APPROVERS)[number];

/** Whether the hourly rate is that of the company's active agreement, or the organization's default. */
export const AGREEMENT_SOURCES = ['company_default', 'organization_default'] as const;
