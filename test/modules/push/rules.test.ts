import { describe, expect, test } from 'vitest';
import type { Change } from '../../../src/domain/change.ts';
import { utf8Length } from '../../../src/lib/bytes.ts';
import {
  afterFailure,
  backoffMs,
  isLongFailure,
  MAX_BODY_BYTES,
  NEW_PAGE_BYTES,
  pushMessage,
  REPEATED_PAGE_BYTES,
} from '../../../src/modules/push/rules.ts';
import { changeApiKey } from '../../../src/services/keys/change-key.ts';
import { getOwnKey } from '../../../src/services/keys/read-keys.ts';
import { MAX_CHANGES } from '../../../src/services/work/list-changes.ts';
import { allChanges } from '../../support/psa-calls.ts';
import { asAdmin, makeApi, makeKey, makeOrganization, revoke, rotate } from '../../support/world.ts';

const NOW = Date.parse('2026-11-22T08:00:00Z');
const HOUR_MS = 3_600_000;

test('the pause doubles from 5–10 s to 30–60 min', () => {
  const shortest = [1, 2, 3, 4, 9, 10, 11, 1_000].map((attempts) => backoffMs(attempts, 0) / 1_000);
  expect(shortest).toEqual([5, 10, 20, 40, 1_280, 1_800, 1_800, 1_800]);
  const longest = [1, 2, 3, 4, 9, 10, 11, 1_000].map((attempts) => backoffMs(attempts, 1) / 1_000);
  expect(longest).toEqual([10, 20, 40, 80, 2_560, 3_600, 3_600, 3_600]);
});

test('failures are counted from the first one; the longer of both pauses counts; after ten minutes it is an error', () => {
  const fail = (before: Parameters<typeof afterFailure>[0], now: number, retryAfterMs = 0) =>
    afterFailure(before, { failure: 'HTTP 500', retryAfterMs }, now, 0);
  const first = fail(null, NOW);
  expect(first).toEqual({
    since: NOW,
    attempts: 1,
    failure: 'HTTP 500',
    nextAttemptAt: NOW + 5_000,
  });
  const second = fail(first, NOW + 5_000, 1_000);
  expect(second).toMatchObject({ since: NOW, attempts: 2, nextAttemptAt: NOW + 15_000 });
  expect(fail(second, NOW + 15_000, 60_000)).toMatchObject({ attempts: 3, nextAttemptAt: NOW + 75_000 });
  // After an order the attempts are counted again, but it is still the same failure.
  expect(fail({ ...second, attempts: 0 }, NOW + 1)).toMatchObject({ since: NOW, attempts: 1 });
  const isLong = (ms: number, retryAfterMs: number) => isLongFailure(NOW, { retryAfterMs }, NOW + ms);
  expect([isLong(599_999, 599_999), isLong(600_000, 0), isLong(0, 600_000)]).toEqual([false, true, true]);
});

const change = (seq: number, text = ''): Change => ({
  cursor: `0123456789abcdef.${seq}.request-${seq}`,
  seq,
  at: new Date(NOW).toISOString(),
  action: 'note.created',
  actor: { type: 'api_key', id: 'key', name: { mediaType: 'text/plain', text } },
  targetId: 'note',
  ticketId: '1001',
  requestId: `request-${seq}`,
  idempotencyKey: null,
  detail: null,
  note: null,
  timeEntry: null,
  key: null,
});

describe('a message', () => {
  test('the message id depends on the organization and the range, and not on time or content', async () => {
    const ids = await Promise.all(
      [
        pushMessage('northwind', [change(1), change(2)], NOW),
        pushMessage('northwind', [change(1, 'other'), change(2)], NOW + HOUR_MS),
        pushMessage('fabrikam', [change(1), change(2)], NOW),
        pushMessage('northwind', [change(1), change(2), change(3)], NOW),
        pushMessage('northwind', [change(2)], NOW),
        pushMessage('northwind', [change(1), { ...change(2), cursor: change(2).cursor.replace('0', '1') }], NOW),
      ].map(async (message) => (await message).id),
    );
    expect(ids[0]).toBe(ids[1]);
    expect(new Set(ids).size).toBe(5);
    for (const id of ids) expect(id).toMatch(/^page_[0-9a-f]{32}$/);
  });

  test('the body has the changes, the cursor after them, and the time of the message', async () => {
    const { body } = await pushMessage('northwind', [change(1)], NOW);
    expect(JSON.parse(body)).toEqual({
      type: 'work.changes',
      timestamp: new Date(NOW).toISOString(),
      data: { organization: 'northwind', changes: [change(1)], cursor: change(1).cursor },
    });
  });

  test('a message is at most 512 KiB, even with the largest page and the longest ids', async () => {
    const organization = 'o'.repeat(64);
    const cursor = `0123456789abcdef.${'9'.repeat(15)}.${'r'.repeat(64)}`;
    const empty = JSON.stringify([{ ...change(1), cursor }]).length;
    const largest = { ...change(1, 'x'.repeat(REPEATED_PAGE_BYTES - empty)), cursor };
    expect(JSON.stringify([largest])).toHaveLength(REPEATED_PAGE_BYTES);
    const { body } = await pushMessage(organization, [largest], NOW);
    expect(body.length).toBeLessThanOrEqual(MAX_BODY_BYTES);
    await expect(pushMessage(organization, [], NOW)).rejects.toThrow(RangeError);
  });
});

test('a page leaves room for its keys to grow until it is sent again', async () => {
  const organization = await makeOrganization();
  const { id, value } = await makeKey(organization, { name: 'ab' });
  await makeApi().postNote(value);
  const bytesOf = async () =>
    utf8Length(JSON.stringify((await allChanges(organization)).find(({ note }) => note !== null)));
  const before = await bytesOf();
  const admin = asAdmin(organization);
  await changeApiKey(admin, await getOwnKey(admin, id), { name: '\u{20000}'.repeat(100) });
  await rotate(organization, id, { grace: '7d' });
  await revoke(organization, id);
  const grown = (await bytesOf()) - before;
  expect(grown).toBeGreaterThan(450);
  expect(MAX_CHANGES * grown).toBeLessThan(REPEATED_PAGE_BYTES - NEW_PAGE_BYTES);
});
