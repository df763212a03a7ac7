import type { RefusedUseReason } from '../../domain/refused-use.ts';
import type { Notice, NoticeData } from './notice.ts';

// Notices as a sentence, for a chat. A text has our words, ids, hints and numbers only. Names of keys
// are left out: the chat is the operator's, and an administrator of any organization could word a
// name as markup or as a link there. The hint finds the key.

const number = (value: number) => value.toLocaleString('en');
/** An instant as `2026-11-22 08:00 UTC`. */
const time = (iso: string) => `${iso.slice(0, 16).replace('T', ' ')} UTC`;
const at = (words: string, iso: string | null) => (iso === null ? '' : `${words} ${time(iso)}`);
const by = (key: { hint: string } | null) => (key ? ` by ${key.hint}` : '');
const days = (value: number) => `${value} ${value === 1 ? 'day' : 'days'}`;

const REFUSED: Record<RefusedUseReason, string> = {
  expired: 'has expired and is still in use; its requests are refused',
  revoked: 'is revoked and still in use; its requests are refused',
  idempotency_mismatch: 'used an Idempotency-Key again for a different request; that write may be lost',
  scope_missing: 'lacks a scope for what an automation does with it',
  address_not_allowed: 'was used from outside its allowed networks',
  daily_limit_reached: 'was refused a write because of a daily limit',
  organization_inactive: 'is in use although its organization is inactive',
  psa_not_included: 'is in use although the plan does not include PSA',
};

const UNITS: Record<NoticeData['daily_limit']['what'], (limit: number) => string> = {
  records: (limit) => `${number(limit)} new records`,
  minutes: (limit) => `${number(limit)} minutes`,
  bytes: (limit) => `${number(limit / 1_000_000)} MB of text`,
};

/** A notice in one line, without markup. */
export function noticeText(notice: Notice): string {
  const { organization } = notice.data;
  const sentence = sentenceOf(notice);
  return organization === null ? sentence : `${organization}: ${sentence}`;
}

function sentenceOf({ type, data }: Notice): string {
  switch (type) {
    case 'key_created':
      return `API key ${data.key.hint} was created.`;
    case 'key_rotated':
      return `API key ${data.key.hint} was replaced${by(data.successor)}${at(', and ends at', data.key.expiresAt)}.`;
    case 'key_revoked':
      return `API key ${data.key.hint} was revoked.`;
    case 'key_expiring':
      return `API key ${data.key.hint} expires in ${days(data.days)}${at(', at', data.key.expiresAt)}.`;
    case 'key_unused':
      return `API key ${data.key.hint} has not written anything for ${days(data.days)}.`;
    case 'key_refused':
      return `API key ${data.key.hint} ${REFUSED[data.reason]}. Last at ${time(data.lastAt)}.`;
    case 'daily_limit': {
      const whose = data.key ? `API key ${data.key.hint} has` : 'The organization has';
      return `${whose} used ${data.percent} % of its daily limit of ${UNITS[data.what](data.limit)}, on ${data.day}.`;
    }
    case 'database_size':
      return `The database has reached ${data.percent} % of its limit of ${number(data.limit / 1_000_000)} MB.`;
    case 'push_failing':
      return `Changes ${data.stopped ? 'are not sent to' : 'have not reached'} the PSA since ${time(data.since)}${data.failure === null ? '' : ` (${data.failure})`}.`;
  }
}
