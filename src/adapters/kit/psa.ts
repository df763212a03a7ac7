import type * as z from 'zod';
import type { DirectoryRecordInput } from '../../domain/directory.ts';
import type { Change } from '../../domain/psa-shapes.ts';
import type { ApprovalDecision } from '../../domain/record-kinds.ts';

/** A request to the PSA, and the shape of the part of the response that the mapping reads. */
export interface PsaRequest<Response> {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  path: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  /** JSON; a text is sent as it is. */
  body?: unknown;
  response: z.ZodType<Response>;
  /** Called each time immediately before it is sent. The kit sets it. */
  onSend?: () => void;
}

/** Sends one request at a time, and not faster than the PSA allows. @throws PsaFault */
export type Send = <Response>(request: PsaRequest<Response>) => Promise<Response>;

/** Sends requests, and calls `onWrite` immediately before each one that can change something. */
export const beforeWrites =
  (send: Send, onWrite: () => void): Send =>
  (request) =>
    send(request.method === 'GET' ? request : { ...request, onSend: onWrite });

/** A text for the PSA. It ends with its mark there: the id of the record, which the adapter looks for. */
export type PsaRecord = { id: string; ticketId: string; createdAt: string; text: string; mark: string } & (
  | { kind: 'note' }
  | {
      kind: 'time_entry';
      userId: string;
      minutes: number;
      workDate: string;
      billable: boolean;
      /** Whether the PSA has yet to decide about it. */
      awaitsDecision: boolean;
    }
);
export type PsaTime = Extract<PsaRecord, { kind: 'time_entry' }>;

/** A field of a time entry that decides what it costs: what is sent, and what the PSA has. */
export interface TimeField {
  name: string;
  expected: string;
  got: string;
  /** What to do if they differ. */
  repair: string;
}

export const timeField = (name: string, expected: unknown, got: unknown, repair: string): TimeField => ({
  ...{ name, expected: String(expected), got: String(got ?? 'nothing'), repair },
});

/** What the PSA shows of a record. */
export interface Shown {
  psaId: string;
  /** The account that wrote a note; empty if the PSA does not say. Time is written in the name of its technician. */
  author: string;
  /** Whether customers cannot see it and got no mail of it. */
  isPrivate: boolean;
  /** Of a time entry; none of a note. */
  fields: TimeField[];
}

/** A record of the directory except for its organization, which the adapter adds. */
export type DirectoryItem = WithoutOrganization<Exclude<DirectoryRecordInput, { type: 'organization' }>>;
type WithoutOrganization<Input> = Input extends unknown ? Omit<Input, 'organization'> : never;

/** What the kit has to know of one PSA. Everything else is the same for all. */
export interface Psa {
  /** For the audit log. */
  name: string;
  /** The account of the adapter, such as its key. After a change the connection is tested again. */
  account: string;
  baseUrl: () => string;
  headers: () => Record<string, string>;
  /**
   * Gets what `baseUrl` and `headers` need, such as a token: before each request, and after one that failed. Returns whether
   * it got something new: then the request is sent again.
   */
  prepare?: (send: Send, fault?: PsaFault) => Promise<boolean>;
  /** The shortest time from one request to the next. */
  paceMs: number;
  /** The longest text of a time entry, with its mark. The whole of a longer one follows as a note. */
  maxTimeText: number;
  /** Whether customers may see a time entry, so that it is read back and removed like a note. */
  showsTime?: boolean;
  /** The codes and fields in the body of an error. Its texts are not for the log. */
  codesIn: (body: unknown) => string[];
  /** What an error means, where the PSA says more than its status does; undefined: what the status says. */
  judge?: (status: number, body: unknown) => PsaFault['outcome'] | undefined;
  /** Users, companies and agreements, complete. Not the administrators: the binding contains them. */
  people: (send: Send) => Promise<DirectoryItem[]>;
  /**
   * Tickets that changed since a time; null: all that may still be written to, closed ones for 30 days. In pages. Times
   * are of the PSA's clock.
   */
  tickets: (send: Send, since: Date | null, now: Date) => AsyncIterable<DirectoryItem[]>;
  /** Creates a record with its last request. Returns its id in the PSA; null if the PSA does not say. */
  create: (send: Send, record: PsaRecord) => Promise<string | null>;
  /** All records with the mark, by any account, and of any time. */
  find: (send: Send, record: PsaRecord) => Promise<Shown[]>;
  /** Reads a record back. */
  read: (send: Send, record: PsaRecord, psaId: string) => Promise<Shown>;
  /** Removes a record. */
  remove: (send: Send, record: Pick<PsaRecord, 'kind' | 'ticketId'>, psaId: string) => Promise<void>;
  /** Replaces the text of a record. */
  redact: (send: Send, record: PsaRecord, psaId: string) => Promise<void>;
  /**
   * Decisions on time since a time of the PSA's clock, with the id of the user who decided, if the PSA says so. Missing:
   * the PSA has no approval, so the settings area decides, and the PSA gets only approved time.
   */
  reviews?: (
    send: Send,
    since: Date,
  ) => Promise<{ psaId: string; decision: ApprovalDecision; reviewer?: string | undefined }[]>;
  /** What the test of time needs, which writes two entries before the first one of a person. */
  time: {
    /** The variables that decide what time costs: after a change, time is tested again. */
    settings: readonly unknown[];
    /** The rights of each step, as a sentence for an administrator of the PSA. */
    rights: Record<'create' | 'read' | 'remove', string>;
  };
  /** What `adapter:doctor` checks, only by reading: each line says what is right, or throws what is wrong. */
  checks: (send: Send) => AsyncIterable<string>;
}

/**
 * `refused`: the PSA does not take this record, even if it is sent again. `denied`: it does not accept the account or its
 * rights. `later`: it has not done it. `unknown`: it may have done it, or may do it yet.
 */
export class PsaFault extends Error {
  readonly outcome: 'refused' | 'denied' | 'later' | 'unknown';
  /** The status of the response; 0 for none. */
  readonly status: number;
  readonly retryAfterMs: number;
  /** The codes in its body. */
  readonly codes: readonly string[];

  constructor(
    outcome: PsaFault['outcome'],
    message: string,
    { status = 0, retryAfterMs = 0, codes = [] }: Partial<Pick<PsaFault, 'status' | 'retryAfterMs' | 'codes'>> = {},
  ) {
    super(message);
    this.outcome = outcome;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.codes = codes;
  }
}

/** What `run` returns; undefined if the PSA says that there is no such record or ticket. */
export const unlessGone = <T>(run: Promise<T>): Promise<T | undefined> =>
  run.catch((err: unknown) => {
    if (err instanceof PsaFault && err.outcome === 'refused' && [404, 410].includes(err.status)) return undefined;
    throw err;
  });

/**
 * Whether the PSA gets the record of a change: a note, a time entry that it decides, and any other when it is approved,
 * whatever the action.
 */
export const isForPsa = ({ note, timeEntry }: Change): boolean =>
  note !== null || timeEntry?.approvals === 'psa' || timeEntry?.status === 'APPROVED';

/** Whether the PSA has yet to decide about the time entry of a change. */
export const waitsForPsa = ({ timeEntry }: Change): boolean =>
  timeEntry?.approvals === 'psa' && timeEntry.status === 'SUBMITTED';

/** The record of a change; undefined if it has none. */
export function recordOf(change: Change): PsaRecord | undefined {
  const { note, timeEntry } = change;
  const found = note ?? timeEntry;
  if (!found) return undefined;
  const { id, ticketId, createdAt } = found;
  const common = { id, ticketId, createdAt, mark: `[twb:${id}]` };
  if (note) return { ...common, kind: 'note', text: note.message.text };
  if (!timeEntry) return undefined;
  const { userId, minutes, workDate, billable, description } = timeEntry;
  const fields = { userId, minutes, workDate, billable, awaitsDecision: waitsForPsa(change) };
  return { ...common, ...fields, kind: 'time_entry', text: description.text };
}

/** The note with the whole text of a time entry. */
export const wholeText = ({ id, ticketId, createdAt, text }: PsaRecord): PsaRecord => ({
  ...{ kind: 'note', id: `${id}/text`, ticketId, createdAt, text, mark: `[twb:${id}/text]` },
});

/** What is written for a record: a text that is too long for its field is cut, and the whole of it is a note. */
export function partsOf(record: PsaRecord, maxTimeText: number): PsaRecord[] {
  const room = maxTimeText - record.mark.length - 2;
  if (record.kind === 'note' || record.text.length <= room) return [record];
  // Never between the two halves of a character.
  const cut = record.text.slice(0, room - 1).replace(/[\uD800-\uDBFF]$/, '');
  return [{ ...record, text: `${cut}…` }, wholeText(record)];
}
