import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { forgetOldAddresses, forgetOldRefusedRequests } from '../../src/services/forget.ts';
import { recordRefusal } from '../../src/services/keys/record-refusal.ts';
import { refusedRequest } from '../support/refused-requests.ts';
import { asOperator, makeKey, makeOrganization, rowsOf } from '../support/world.ts';

// Test files share a database: rows of other tests are later than this, so that no run counts them.
const NOW = Date.parse('2001-06-30T03:17:00Z');

test('a run removes a limited number of old addresses, and the next ones the rest', async () => {
  const organization = await makeOrganization();
  const { id } = await makeKey(organization);
  const ctx = { db: env.DB, now: () => NOW, deadlineAt: Date.now() + 30_000, requestId: 'daily' };
  const limits = { rows: 3, chunks: 2 };
  await env.DB.batch(
    Array.from({ length: 15 }, (_, index) =>
      env.DB.prepare("insert into refused_uses values (?1, ?2, ?3, 1, 0, ?4, '192.0.2.1', null, null, '', null)").bind(
        organization,
        id,
        `reason-${'abcdefghijklmno'[index]}`,
        index < 13 ? index : NOW,
      ),
    ),
  );
  const left = async () =>
    (await rowsOf('refused_uses', organization)).filter(({ source_address }) => source_address !== null).length;
  const results: unknown[] = [];
  for (let run = 0; run < 4; run++) results.push([await forgetOldAddresses(ctx, limits), await left()]);
  // Two addresses are recent.
  expect(results).toEqual([
    [false, 9],
    [false, 3],
    [true, 2],
    [true, 2],
  ]);
});

test('a run removes a limited number of the refused requests that are older than 7 days', async () => {
  const organization = await makeOrganization();
  const { id: keyId } = await makeKey(organization);
  const ctx = asOperator(env.DB, () => NOW);
  const oldest = NOW - 7 * 24 * 3_600_000;
  for (let index = 0; index < 7; index++) {
    const request = refusedRequest(`request-${index}`, { at: oldest - 5 + index });
    await recordRefusal(ctx, { organizationId: organization, keyId }, { request });
  }
  const results: unknown[] = [];
  for (let run = 0; run < 2; run++) {
    const isDone = await forgetOldRefusedRequests(ctx, { rows: 2, chunks: 2 });
    results.push([isDone, (await rowsOf('refused_requests', organization)).length]);
  }
  expect(results).toEqual([
    [false, 3],
    [true, 2],
  ]);
});
