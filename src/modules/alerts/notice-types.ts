import { instant, plain } from '../../domain/change.ts';
import { keysOf } from '../../lib/objects.ts';
import type { NoticeData, NoticeType } from './notice.ts';

const organization = 'northwind';
const AT = Date.parse('2026-11-22T08:00:00Z');
const key = {
  id: '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6073',
  name: plain('n8n: triage'),
  hint: 'twb_Ab12…x9Yz',
  expiresAt: '2026-12-06T05:00:00.000Z',
};
const actor = { type: 'user', id: 'ada', name: plain('Ada') } as const;

/** What each type of notice means, and its data in an example. */
export const NOTICE_TYPES: { [Type in NoticeType]: { meaning: string; example: NoticeData[Type] } } = {
  key_created: { meaning: 'A key was created.', example: { organization, key, actor } },
  key_rotated: {
    meaning: 'A key was replaced by `successor`. It works until its `expiresAt`.',
    example: {
      organization,
      key,
      actor,
      successor: { id: '01a3b2c4-6d6e-7f80-9a1b-2c3d4e5f6074', hint: 'twb_Cd34…w8Xy' },
    },
  },
  key_revoked: { meaning: 'A key was revoked.', example: { organization, key, actor } },
  key_expiring: {
    meaning: 'A key expires in 14, 3 or 1 days, and has no successor.',
    example: { organization, key, days: 14 },
  },
  key_unused: {
    meaning: "A key has not written anything for 60 days, or as many as the organization's key rules say.",
    example: { organization, key, days: 60, lastWriteAt: null },
  },
  key_refused: {
    meaning:
      'Requests with a key were refused, such as those with an expired or revoked key that is still in use, or a replay of a different request may have lost a write (`idempotency_mismatch`). `count` is a minimum since `firstAt`. Once for each key and reason, and again if it still happens a week later.',
    example: { organization, key, reason: 'expired', count: 18, firstAt: instant(AT), lastAt: instant(AT) },
  },
  daily_limit: {
    meaning: 'A key, or the organization if `key` is null, has used 80 or 100 percent of a daily limit.',
    example: { organization, key, day: '2026-11-22', percent: 80, what: 'records', used: 16_000, limit: 20_000 },
  },
  database_size: {
    meaning: 'The database of the deployment has reached 70 or 90 percent of its limit; again after 30 days.',
    example: { organization: null, percent: 70, bytes: 7_000_000_000, limit: 10_000_000_000 },
  },
  push_failing: {
    meaning:
      'The changes of the organization have not reached you for five minutes, although this notice has. It is withdrawn if they do before it is sent.',
    example: { organization, since: instant(AT), failure: 'HTTP 500', stopped: false },
  },
};

export const NOTICE_TYPE_NAMES = keysOf(NOTICE_TYPES);
