import { fromKeys, keysOf } from '../lib/objects.ts';

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
      taken: 'Internal note taken by your PSA',
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
      redacted: 'Time entry redacted',
      refused: 'Time entry refused by your PSA',
      taken: 'Time entry taken by your PSA',
    },
    exampleBody: { minutes: 15, description: 'Disk cleaned up', billable: true },
  },
} as const satisfies Record<string, RecordKindEntry>;

export type RecordKind = keyof typeof RECORD_KINDS;

export const RECORD_KIND_NAMES = keysOf(RECORD_KINDS);

export const haveMinutes = (kinds: readonly RecordKind[]) => kinds.some((kind) => RECORD_KINDS[kind].hasMinutes);

export const forEachKind = <Value>(make: (kind: RecordKind) => Value) => fromKeys(RECORD_KIND_NAMES, make);
