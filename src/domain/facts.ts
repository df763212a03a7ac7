import { keysOf } from '../lib/objects.ts';
import { RECORD_KIND_NAMES, RECORD_KINDS } from './record-kinds.ts';
import type { REASONS_FOR_ATTENTION } from './refused-use.ts';

// The facts that need attention: what, since when, which key, and what to do. The settings area shows the facts of an
// organization, and the alerts send the facts of all organizations. A new fact is an entry here, a statement in
// db/fact-statements.ts, and a tile in http/settings/fact-tiles.ts if it is shown. A module contributes a `FactSource`.

/** How long a record that the PSA refused needs attention, unless the PSA takes it. */
export const PSA_REFUSAL_DAYS = 30;
/** How long a push may lack a confirmation, or an adapter be silent, before it needs attention. */
export const FAILING_MS = 5 * 60_000;
/** How many days before its expiry the fact that a key is expiring becomes more urgent. */
export const EXPIRY_LEVELS = [3, 1] as const;
/** From which percentage on a used daily limit needs attention. It becomes more urgent at 100. */
export const DAY_LIMIT_PERCENT = 80;

type ReasonForAttention = (typeof REASONS_FOR_ATTENTION)[number];

export interface Fact {
  /** A `FactType`, or the type of a module's fact. */
  type: string;
  /** Empty for a fact about the deployment. */
  organizationId: string;
  /** Distinguishes the facts of one type and organization, such as the id of a key. */
  subject: string;
  /** The key that the fact is about, if it is about one. */
  keyId: string | null;
  keyName: string | null;
  keyHint: string | null;
  keyExpiresAt: number | null;
  since: number;
  /** From 1 on. A fact that rises to a higher level has become more urgent. */
  level: number;
  /** Requests, days, percent or bytes: see the type. */
  count: number;
  /** 1 if the count is a lower bound. */
  isMinimum: number;
  /** The latest event, such as the last refused request or the last write. */
  lastAt: number | null;
  /** Where a refused key was last used from, if its address is still stored. */
  sourceAddress: string | null;
  /** Why changes do not reach the PSA. */
  failure: string | null;
  /** The limit that is used up, in words. */
  limitInWords: string | null;
}

/** A fact with its kind. */
export interface FoundFact extends Fact {
  kind: FactKind;
}

export interface FactKind {
  /** Whether alerts are looked for every five minutes instead of once a day. */
  isUrgent: boolean;
  /** For alerts. Without any text that a tenant can choose: a chat may show it as a link or a mention. */
  sentence: (fact: Fact) => string;
  advice: string;
  /** Whether work is lost while there is such a fact. */
  losesWork?: true;
  /** Whether the settings area shows it. Not facts that concern only the operator, or that other parts of a page show. */
  isShown?: true;
}

const plural = (number: number, one: string, many = `${one.replace(/ry$/, 'rie')}s`) =>
  `${number} ${number === 1 ? one : many}`;
/** An instant as `2026-11-22 08:00 UTC`. */
const time = (at: number | null) => `${new Date(at ?? 0).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
const theKey = ({ keyHint }: Fact) => `API key ${keyHint ?? ''}`;

const refused = (says: string, advice: string) =>
  ({
    isUrgent: true,
    isShown: true,
    sentence: (fact) =>
      `${theKey(fact)} ${says}${fact.limitInWords === null ? '' : ` of ${fact.limitInWords}`}. Last at ${time(fact.lastAt)}.`,
    advice,
  }) as const satisfies FactKind;

const nounOf = (subject: string) =>
  RECORD_KIND_NAMES.filter((kind) => kind === subject).map((kind) => RECORD_KINDS[kind].noun)[0] ?? 'record';

export const FACTS = {
  refused_by_psa: {
    isUrgent: true,
    sentence: ({ count, subject, lastAt }) =>
      `The PSA has refused ${plural(count, nounOf(subject))}. Last at ${time(lastAt)}.`,
    advice:
      'The settings area shows each reason: of time under Time, of notes in the audit log. Enter these records in the PSA, or repair the cause there and have it take them.',
    losesWork: true,
    isShown: true,
  },
  refused_expired: {
    ...refused(
      'has expired and is still in use; its requests are refused',
      'Create its replacement, unless it has one, and enter that in the automation.',
    ),
    losesWork: true,
  },
  refused_idempotency_mismatch: {
    ...refused(
      'used an Idempotency-Key again for a different request; that write may be lost',
      'Enter the writes by hand, unless an AI agent only reworded a retry. Build the Idempotency-Key from the ID of the event.',
    ),
    losesWork: true,
  },
  push_failing: {
    isUrgent: true,
    sentence: ({ level, since, failure }) =>
      `Changes ${level === 1 ? 'have not reached' : 'are not sent to'} the PSA since ${time(since)}${failure === null ? '' : ` (${failure})`}.`,
    advice:
      'Find out why the PSA does not accept the changes. Nothing is lost: they are sent again, and after a stop when the operator resumes the push or the adapter.',
    isShown: true,
  },
  refused_revoked: refused(
    'is revoked and still in use; its requests are refused',
    'If it leaked, nothing is left to do: it is refused. Otherwise enter its replacement in the automation, or turn that off.',
  ),
  refused_scope_missing: refused(
    'lacks a scope for what an automation does with it',
    'Create its replacement with both scopes, and enter that in the automation.',
  ),
  refused_address_not_allowed: refused(
    'was used from outside its allowed networks',
    'If the automation has moved, allow its address. If not, rotate the key: another person may have it.',
  ),
  refused_daily_limit_reached: refused(
    'was refused a write because of a daily limit',
    'If these writes are intended, raise the limit.',
  ),
  key_expiring: {
    isUrgent: false,
    sentence: (fact) => `${theKey(fact)} expires at ${time(fact.keyExpiresAt)}.`,
    advice: 'Rotate the key and enter its successor in the automation before it expires, or let it end.',
    isShown: true,
  },
  daily_limit: {
    isUrgent: false,
    sentence: (fact) =>
      `${fact.keyHint === null ? 'The organization' : theKey(fact)} has used ${fact.level === 1 ? DAY_LIMIT_PERCENT : 100}% of the daily limit of ${fact.limitInWords}.`,
    advice: "Check the automations' writes. If they are intended, raise the limit.",
  },
  // At level 2, the oldest entry keeps old records from being deleted.
  time_waiting: {
    isUrgent: false,
    sentence: ({ count, since, level }) =>
      `${plural(count, 'time entry waits', 'time entries wait')} for approval, the oldest since ${time(since)}.${level > 1 ? ' Until it is decided, no old records of the organization are deleted.' : ''}`,
    advice: 'Approve or reject it in the settings area, under Time. It is not billable before.',
    isShown: true,
  },
  database_size: {
    isUrgent: true,
    sentence: ({ level, limitInWords }) =>
      `The database has reached ${level === 1 ? 70 : 90}% of its limit of ${limitInWords}.`,
    advice: 'Make room before writes fail, or use a database with a higher limit.',
  },
} satisfies Record<string, FactKind> & Record<`refused_${ReasonForAttention}`, FactKind>;

export type FactType = keyof typeof FACTS;

/** The most urgent first. */
export const FACT_TYPES = keysOf(FACTS);

export type ShownFactType = {
  [Type in FactType]: (typeof FACTS)[Type] extends { isShown: true } ? Type : never;
}[FactType];

export const isLostWork = ({ kind }: FoundFact): boolean => kind.losesWork ?? false;
