import { expect, test } from 'vitest';
import { type Notice, noticePauseMs } from '../../../src/modules/alerts/notice.ts';
import { noticeText } from '../../../src/modules/alerts/notice-text.ts';

const organization = 'northwind';
const NAME = '<!channel> [click](https://evil.example)';
const key = {
  id: '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6073',
  name: { mediaType: 'text/plain', text: NAME },
  hint: 'twb_Ab12…x9Yz',
  expiresAt: '2026-12-06T05:00:00.000Z',
} as const;
const endless = { ...key, expiresAt: null };
const actor = { type: 'user', id: 'ada', name: { mediaType: 'text/plain', text: NAME } } as const;
const AT = '2026-11-22T08:00:00.000Z';
const refused = { organization, key, count: 18, firstAt: AT, lastAt: AT } as const;
const limit = { organization, key, day: '2026-11-22', percent: 80, used: 80, limit: 100 } as const;

test.each<[Notice, string]>([
  [{ type: 'key_created', data: { organization, key, actor } }, 'API key twb_Ab12…x9Yz was created.'],
  [
    { type: 'key_rotated', data: { organization, key, actor, successor: { id: 'x', hint: 'twb_Cd34…w8Xy' } } },
    'API key twb_Ab12…x9Yz was replaced by twb_Cd34…w8Xy, and ends at 2026-12-06 05:00 UTC.',
  ],
  [{ type: 'key_revoked', data: { organization, key, actor } }, 'API key twb_Ab12…x9Yz was revoked.'],
  [
    { type: 'key_expiring', data: { organization, key, days: 1 } },
    'API key twb_Ab12…x9Yz expires in 1 day, at 2026-12-06 05:00 UTC.',
  ],
  [
    { type: 'key_unused', data: { organization, key: endless, days: 60, lastWriteAt: null } },
    'API key twb_Ab12…x9Yz has not written anything for 60 days.',
  ],
  [
    { type: 'key_refused', data: { ...refused, reason: 'expired' } },
    'API key twb_Ab12…x9Yz has expired and is still in use; its requests are refused. Last at 2026-11-22 08:00 UTC.',
  ],
  [
    { type: 'key_refused', data: { ...refused, reason: 'idempotency_mismatch' } },
    'API key twb_Ab12…x9Yz used an Idempotency-Key again for a different request; that write may be lost. Last at 2026-11-22 08:00 UTC.',
  ],
  [
    { type: 'daily_limit', data: { ...limit, what: 'records' } },
    'API key twb_Ab12…x9Yz has used 80 % of its daily limit of 100 new records, on 2026-11-22.',
  ],
  [
    { type: 'daily_limit', data: { ...limit, key: null, what: 'bytes', limit: 256_000_000 } },
    'The organization has used 80 % of its daily limit of 256 MB of text, on 2026-11-22.',
  ],
  [
    { type: 'push_failing', data: { organization, since: AT, failure: 'HTTP 500', stopped: false } },
    'Changes have not reached the PSA since 2026-11-22 08:00 UTC (HTTP 500).',
  ],
])('the text of %o has no names that a person chose', (notice, says) => {
  expect(noticeText(notice)).toBe(`northwind: ${says}`);
});

test('the text about the deployment names no organization', () => {
  const data = { organization: null, percent: 90, bytes: 450_000_000, limit: 500_000_000 };
  expect(noticeText({ type: 'database_size', data })).toBe('The database has reached 90 % of its limit of 500 MB.');
});

test('the pauses double from 5 minutes to an hour, and end before the run that is then due', () => {
  const minutes = Array.from({ length: 7 }, (_, index) => noticePauseMs(index + 1) / 60_000);
  expect(minutes).toEqual([4, 9, 19, 39, 59, 59, 59]);
  expect(noticePauseMs(10_000) / 60_000).toBe(59);
});
