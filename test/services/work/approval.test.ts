import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { handTimeToSettings } from '../../../src/services/work/hand-to-settings.ts';
import { setApproval } from '../../../src/services/work/record-services.ts';
import { decideTime } from '../../../src/services/work/time-queue.ts';
import { aroundD1 } from '../../support/d1.ts';
import { allChanges, connectionOf, directory, failureOf, work } from '../../support/psa-calls.ts';
import { setApprovals } from '../../support/time.ts';
import { asAdmin, asOperator, makeOrganization, makeWorld, rowsOf, TIME } from '../../support/world.ts';

/** An organization with a time entry. `post` sends it once more. */
async function submitEntry() {
  const { organization, key, api } = await makeWorld({ approvals: 'psa' });
  const post = async () => {
    const response = await api.postTime(key, TIME, { 'Idempotency-Key': 'once' });
    return response.json<{ entry: { id: string; status: string }; idempotentReplay?: boolean }>();
  };
  return { organization, post, id: (await post()).entry.id };
}

test.each(['APPROVED', 'REJECTED'] as const)(
  'an entry is %s once, and the audit log shows the reviewer',
  async (decision) => {
    const { organization, post, id } = await submitEntry();
    expect(await work.reviewTimeEntry(organization, id, decision, 'ada')).toEqual({
      ok: true,
      value: { status: decision },
    });
    expect(await work.reviewTimeEntry(organization, id, decision, 'ada')).toEqual({
      ok: true,
      value: { status: decision },
    });
    const other = decision === 'APPROVED' ? 'REJECTED' : 'APPROVED';
    for (const [second, reviewer] of [
      [other, 'ada'],
      [decision, 'tess'],
    ] as const) {
      expect(await work.reviewTimeEntry(organization, id, second, reviewer)).toMatchObject({
        ok: false,
        error: {
          code: 'already_reviewed',
          detail: expect.stringMatching(`${decision} .*ada`),
          decision,
          reviewer: 'ada',
          reviewedAt: expect.stringMatching(/^\d{4}-.*Z$/),
        },
      });
    }
    expect((await allChanges(organization)).slice(2)).toMatchObject([
      {
        action: `time_entry.${decision.toLowerCase()}`,
        actor: { type: 'user', id: 'ada' },
        ticketId: '1001',
        timeEntry: { id, status: decision },
      },
    ]);
    expect(await post()).toMatchObject({ entry: { id, status: decision }, idempotentReplay: true });
  },
);

test.each([
  ['a technician', 'tess'],
  ['the service account', 'automation'],
  ['an unknown user', 'unheard-of'],
  ['an inactive administrator', 'ada'],
  ['nobody', undefined],
])('a decision of %s is stored in the name of the PSA, once', async (_, reviewer) => {
  const { organization, id } = await submitEntry();
  await directory.deactivate(organization, [{ type: 'user', id: 'ada' }]);
  const review = { organization, entry: id, decision: 'APPROVED', reviewer, by: 'HaloPSA' } as const;
  for (let time = 0; time < 2; time++) expect(await setApproval(asOperator(), review)).toEqual({ status: 'APPROVED' });
  expect((await allChanges(organization)).slice(2)).toMatchObject([
    { action: 'time_entry.approved', actor: { type: 'system', name: { text: 'HaloPSA' } }, timeEntry: { id } },
  ]);
  await expect(setApproval(asOperator(), { ...review, decision: 'REJECTED' })).rejects.toMatchObject({
    code: 'already_reviewed',
  });
});

test('the PSA decides nothing about an entry of the settings area', async () => {
  const { organization, key, api } = await makeWorld();
  await api.postTime(key);
  const id = (await allChanges(organization)).at(-1)?.targetId ?? '';
  for (const reviewer of ['ada', 'tess'])
    expect(failureOf(await work.reviewTimeEntry(organization, id, 'APPROVED', reviewer))).toEqual([
      'approved_in_settings',
    ]);
  expect(await rowsOf('time_entries', organization)).toMatchObject([{ status: 'SUBMITTED' }]);
});

test('time that waits for a PSA is handed to the settings area once the directory says that it decides', async () => {
  const { organization, key, api } = await makeWorld({ approvals: 'psa' });
  for (let entry = 0; entry < 3; entry++) await api.postTime(key);
  const [decided = '', ...waiting] = (await allChanges(organization)).slice(1).map(({ targetId }) => targetId);
  await work.reviewTimeEntry(organization, decided, 'APPROVED', 'ada');
  const request = { organization, by: 'Olga' };
  await expect(handTimeToSettings(asOperator(), request)).rejects.toMatchObject({ code: 'approved_in_psa' });
  await setApprovals(organization, 'settings');
  expect([await handTimeToSettings(asOperator(), request), await handTimeToSettings(asOperator(), request)]).toEqual([
    2, 0,
  ]);
  expect((await allChanges(organization)).slice(5)).toMatchObject(
    waiting.map((id) => ({
      action: 'time_entry.handed_over',
      actor: { type: 'system', name: { text: 'Olga' } },
      ticketId: '1001',
      timeEntry: { id, approvals: 'settings', status: 'SUBMITTED' },
    })),
  );
  expect(failureOf(await work.reviewTimeEntry(organization, waiting[0] ?? '', 'APPROVED', 'ada'))).toEqual([
    'approved_in_settings',
  ]);
  expect((await decideTime(asAdmin(organization), [decided, ...waiting], 'REJECTED', 'No')).done).toEqual(waiting);
});

test('time is not handed to the settings area while an adapter reports, unless the operator says that it stays', async () => {
  const connected = async () => {
    const { organization } = await submitEntry();
    await setApprovals(organization, 'settings');
    await connectionOf(organization).reportConnection(crypto.randomUUID(), null);
    return organization;
  };
  const [staying, removed] = [await connected(), await connected()];
  const hand = (organization: string, minutes: number, adapterStays = false) => {
    const ctx = { ...asOperator(), now: () => Date.now() + minutes * 60_000 };
    return handTimeToSettings(ctx, { organization, by: 'Olga', adapterStays });
  };
  await expect(hand(staying, 4)).rejects.toMatchObject({ code: 'adapter_reports' });
  expect(await rowsOf('time_entries', staying)).toMatchObject([{ approvals: 'psa' }]);
  expect([await hand(staying, 4, true), await hand(removed, 6)]).toEqual([1, 1]);
});

test('an entry of another organization is not found', async () => {
  const { organization, id } = await submitEntry();
  const other = await makeOrganization();
  expect(failureOf(await work.reviewTimeEntry(other, id, 'APPROVED', 'ada'))).toEqual(['record_not_found']);
  expect(await rowsOf('time_entries', organization)).toMatchObject([{ status: 'SUBMITTED' }]);
});

test('one decision of simultaneous reviews succeeds, with one audit row', async () => {
  const { organization, id } = await submitEntry();
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, i) => work.reviewTimeEntry(organization, id, i % 2 ? 'APPROVED' : 'REJECTED', 'ada')),
  );
  // The others of the same decision are repetitions.
  expect(answers.map(({ ok }) => ok)).toEqual(answers.map((_, i) => answers[i % 2]?.ok));
  expect(answers.filter(({ ok }) => ok)).toHaveLength(4);
  expect(await rowsOf('audit_log', organization)).toHaveLength(3);
});

test('a review whose acknowledgement was lost succeeds when it is repeated', async () => {
  const { organization, id } = await submitEntry();
  let calls = 0;
  const db = aroundD1(env.DB, async (run) => {
    const results = await run();
    if (++calls === 1) throw new Error('Network connection lost.');
    return results;
  });
  const approval = { organization, entry: id, decision: 'APPROVED' as const, reviewer: 'ada' };
  expect(await setApproval(asOperator(db), approval)).toEqual({ status: 'APPROVED' });
  expect(calls).toBe(4);
  expect(await rowsOf('audit_log', organization)).toHaveLength(3);
});
