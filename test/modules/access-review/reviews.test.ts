import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import {
  decideKeys,
  finishAccessReview,
  isUndecided,
  keysToRevoke,
  readAccessReview,
  readAccessReviews,
  startAccessReview,
} from '../../../src/modules/access-review/reviews.ts';
import { changeKeyRules } from '../../../src/services/keys/change-key-rules.ts';
import { createApiKey } from '../../../src/services/keys/create-key.ts';
import { getOwnKey } from '../../../src/services/keys/read-keys.ts';
import type { AdminContext } from '../../../src/services/service-context.ts';
import { aroundD1, committingTwice } from '../../support/d1.ts';
import {
  asAdmin,
  BOTH_SCOPES,
  importRecords,
  makeApi,
  makeKey,
  makeOrganization,
  NO_KEY_RULES,
  revoke,
  rotate,
  rowsOf,
} from '../../support/world.ts';

const CHANGED = { status: 409, title: 'The review has changed' };

/** Starts a review, and returns its id. */
async function start(ctx: AdminContext): Promise<string> {
  await startAccessReview(ctx);
  return (await readAccessReviews(ctx, 8)).open?.review.id ?? 'no review';
}

/** An organization with so many keys and an open review of them. */
async function makeReview(count = 2) {
  const organization = await makeOrganization();
  const keys = [];
  for (let made = 0; made < count; made++) keys.push(await makeKey(organization));
  const admin = asAdmin(organization);
  const reviewId = await start(admin);
  const ids = keys.map(({ id }) => id);
  const decide = (index: number, decision: 'keep' | 'revoke', reason = 'Checked', shownAt: number | null = null) =>
    decideKeys(admin, reviewId, [{ keyId: ids[index] ?? '', decision, reason, shownAt }]);
  const statuses = async () =>
    (await readAccessReview(admin, reviewId)).keys.map((of) => [
      of.key.name,
      isUndecided(of) ? 'undecided' : (of.decision?.decision ?? 'ended'),
    ]);
  return { organization, admin, reviewId, keys, ids, decide, statuses };
}

/** Another administrator of the organization. */
async function asBob(organization: string): Promise<AdminContext> {
  const email = `bob@${organization}.example`;
  await importRecords({ type: 'user', organization, id: 'bob', email, name: 'Bob', admin: true });
  return { ...asAdmin(organization), actor: { organizationId: organization, userId: 'bob' } };
}

/** A database in which something happens just before a review is finished. */
function beforeFinish(act: () => Promise<unknown>): D1Database {
  let isDone = false;
  return aroundD1(env.DB, async (run, _, sql) => {
    if (!isDone && sql.some((text) => text.includes('update access_reviews'))) {
      isDone = true;
      await act();
    }
    return run();
  });
}

const auditedAfter = async (organization: string, keys: number) =>
  (await rowsOf('audit_log', organization)).slice(keys).map(({ action, detail }) => [action, detail]);

describe('a review', () => {
  test('contains exactly the keys that were live when it began', async () => {
    const organization = await makeOrganization();
    const live = await makeKey(organization);
    const replaced = await makeKey(organization);
    const successor = await rotate(organization, replaced.id, { grace: '7d' });
    await revoke(organization, (await makeKey(organization)).id);
    await makeKey(organization, { expires: '2026-01-01' }, () => Date.parse('2025-12-01'));
    await makeKey(await makeOrganization());
    const admin = asAdmin(organization);
    const reviewId = await start(admin);
    await makeKey(organization);
    const { review, keys } = await readAccessReview(admin, reviewId);
    expect(keys.map(({ key }) => key.id).sort()).toEqual([live.id, replaced.id, successor.id].sort());
    expect(review).toMatchObject({ keys: 3, startedBy: 'Ada', finishedAt: null });
  });

  test('a second review cannot start while one is open, even if two administrators start one simultaneously', async () => {
    const organization = await makeOrganization();
    const admin = asAdmin(organization);
    await Promise.all([startAccessReview(admin), startAccessReview(admin), startAccessReview(admin)]);
    expect(await rowsOf('access_reviews', organization)).toHaveLength(1);
    expect(await auditedAfter(organization, 0)).toEqual([['access_review.started', null]]);
  });

  test('can be started again only after it is finished', async () => {
    const { admin, reviewId } = await makeReview(0);
    expect(await start(admin)).toBe(reviewId);
    await finishAccessReview(admin, reviewId, []);
    expect(await start(admin)).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('a review starts, decides and finishes once if each transaction is committed twice', async () => {
    const organization = await makeOrganization();
    const { id: keyId } = await makeKey(organization);
    const twice = { ...asAdmin(organization), db: committingTwice(env.DB) };
    const reviewId = await start(twice);
    const decided = await decideKeys(twice, reviewId, [{ keyId, decision: 'revoke', reason: 'Old' }]);
    expect(decided).toBe(0);
    expect(await finishAccessReview(twice, reviewId, [keyId])).toBe(0);
    expect((await auditedAfter(organization, 1)).map(([action]) => action)).toEqual([
      'access_review.started',
      'api_key.reviewed',
      'access_review.finished',
      'api_key.revoked',
    ]);
  });

  test('another organization does not find the review and cannot change it', async () => {
    const { reviewId, ids, organization } = await makeReview();
    const other = asAdmin(await makeOrganization());
    const decision = { keyId: ids[0] ?? '', decision: 'keep' as const, reason: 'Ours' };
    const notFound = { status: 404 };
    await expect(readAccessReview(other, reviewId)).rejects.toMatchObject(notFound);
    await expect(decideKeys(other, reviewId, [decision])).rejects.toMatchObject(notFound);
    await expect(finishAccessReview(other, reviewId, [])).rejects.toMatchObject(notFound);
    const own = await start(other);
    expect(await decideKeys(other, own, [decision])).toBe(1);
    expect(await rowsOf('access_review_decisions', organization)).toEqual([]);
    expect(await rowsOf('access_review_decisions', other.actor.organizationId)).toEqual([]);
  });

  test('a user who is not an administrator cannot use the review', async () => {
    const { organization, reviewId, ids } = await makeReview(1);
    const tess = { ...asAdmin(organization), actor: { organizationId: organization, userId: 'tess' } };
    const refused = { code: 'not_administrator' };
    await expect(startAccessReview(tess)).rejects.toMatchObject(refused);
    const decision = { keyId: ids[0] ?? '', decision: 'keep' as const, reason: 'Mine' };
    await expect(decideKeys(tess, reviewId, [decision])).rejects.toMatchObject(refused);
    await decideKeys(asAdmin(organization), reviewId, [decision]);
    await expect(finishAccessReview(tess, reviewId, [])).rejects.toMatchObject(refused);
  });
});

describe('a decision', () => {
  test('a decision is audited with its reason, in the transaction, and revokes nothing', async () => {
    const { organization, admin, decide, ids, statuses } = await makeReview();
    await decide(0, 'revoke', '  Pilot\twas stopped ');
    await decide(1, 'keep');
    expect((await auditedAfter(organization, 3)).sort()).toEqual([
      ['api_key.reviewed', 'Kept: Checked'],
      ['api_key.reviewed', 'To be revoked: Pilot was stopped'],
    ]);
    expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({ target_id: ids[1], actor_id: 'ada' });
    expect(await statuses()).toEqual([
      ['n8n: triage', 'revoke'],
      ['n8n: triage 2', 'keep'],
    ]);
    expect(await getOwnKey(admin, ids[0] ?? '')).toMatchObject({ state: 'active' });
  });

  test.each([
    ['', 'too_short'],
    [' \t', 'too_short'],
    ['x'.repeat(201), 'too_long'],
    ['a\0b', 'forbidden_character'],
  ])('a decision needs a reason that can be stored: %j', async (reason, code) => {
    const { organization, decide } = await makeReview(1);
    await expect(decide(0, 'keep', reason)).rejects.toMatchObject({ errors: [{ pointer: '/0/reason', code }] });
    expect(await rowsOf('access_review_decisions', organization)).toEqual([]);
  });

  test('simultaneous decisions by two administrators are saved once', async () => {
    const { organization, admin, reviewId, ids } = await makeReview(1);
    const bob = await asBob(organization);
    const decide = (ctx: AdminContext) =>
      decideKeys(ctx, reviewId, [{ keyId: ids[0] ?? '', decision: 'keep', reason: 'Same' }]);
    const results = await Promise.all([decide(admin), decide(bob)]);
    expect(results.sort()).toEqual([0, 1]);
    expect(await rowsOf('audit_log', organization)).toHaveLength(3);
  });

  test('a key that ended, or that is not in the review, gets no decision', async () => {
    const { organization, admin, reviewId, ids, decide, statuses } = await makeReview(2);
    await revoke(organization, ids[0] ?? '');
    expect(await decide(0, 'keep')).toBe(1);
    const later = await makeKey(organization);
    const decision = { keyId: later.id, decision: 'keep' as const, reason: 'New' };
    expect(await decideKeys(admin, reviewId, [decision])).toBe(1);
    expect(await statuses()).toEqual([
      ['n8n: triage', 'ended'],
      ['n8n: triage 2', 'undecided'],
    ]);
  });

  test("a decision keeps the key's name and last write at that time", async () => {
    const { organization, admin, reviewId, keys, decide } = await makeReview(1);
    const api = makeApi();
    expect((await api.postNote(keys[0]?.value ?? '')).status).toBe(201);
    await decide(0, 'keep');
    const [seen] = await rowsOf('key_days', organization);
    await env.DB.prepare("update api_keys set name = 'Renamed' where organization_id = ?").bind(organization).run();
    await env.DB.prepare('update key_days set last_at = 1 where organization_id = ?').bind(organization).run();
    await finishAccessReview(admin, reviewId, []);
    expect((await readAccessReview(admin, reviewId)).keys).toMatchObject([
      { key: { name: 'n8n: triage' }, decision: { lastWriteAt: seen?.['last_at'] } },
    ]);
  });
});

describe('finishing a review', () => {
  test('needs a decision on every key that still works', async () => {
    const { organization, admin, reviewId, ids, decide, statuses } = await makeReview(2);
    await decide(0, 'keep');
    await expect(finishAccessReview(admin, reviewId, [])).rejects.toMatchObject(CHANGED);
    expect(await rowsOf('access_reviews', organization)).toMatchObject([{ finished_at: null }]);
    await revoke(organization, ids[1] ?? '');
    expect(await finishAccessReview(admin, reviewId, [])).toBe(0);
    expect((await statuses()).map(([, status]) => status)).toEqual(['keep', 'ended']);
  });

  test('takes a key that has expired since as done', async () => {
    const organization = await makeOrganization();
    await makeKey(organization, { expires: new Date(Date.now() + 60_000).toISOString() });
    const reviewId = await start(asAdmin(organization));
    await expect(finishAccessReview(asAdmin(organization), reviewId, [])).rejects.toMatchObject(CHANGED);
    expect(
      await finishAccessReview(
        asAdmin(organization, () => Date.now() + 61_000),
        reviewId,
        [],
      ),
    ).toBe(0);
  });

  test('revokes the confirmed keys in the same transaction, and no others', async () => {
    const { organization, admin, reviewId, ids, decide } = await makeReview(3);
    await decide(0, 'revoke', 'Old');
    await decide(1, 'keep');
    await decide(2, 'revoke', 'Older');
    expect(await finishAccessReview(admin, reviewId, ids)).toBe(2);
    const states = await Promise.all(ids.map(async (id) => (await getOwnKey(admin, id)).state));
    expect(states).toEqual(['revoked', 'active', 'revoked']);
    expect((await auditedAfter(organization, 7)).map(([action]) => action)).toEqual([
      'access_review.finished',
      'api_key.revoked',
      'api_key.revoked',
    ]);
  });

  test('respects a decision that another administrator changes at that moment', async () => {
    const { organization, admin, reviewId, ids, decide } = await makeReview(1);
    await decide(0, 'revoke');
    const [row] = await rowsOf('access_review_decisions', organization);
    const db = beforeFinish(() => decide(0, 'keep', 'Needed', Number(row?.['decided_at'])));
    expect(await finishAccessReview({ ...admin, db }, reviewId, ids)).toBe(0);
    expect(await getOwnKey(admin, ids[0] ?? '')).toMatchObject({ state: 'active' });
  });

  test('ends the review: no decision can be made or changed, not even in the database', async () => {
    const { organization, admin, reviewId, decide } = await makeReview(1);
    await decide(0, 'keep');
    const [row] = await rowsOf('access_review_decisions', organization);
    await finishAccessReview(admin, reviewId, []);
    const late = decide(0, 'revoke', 'Late', Number(row?.['decided_at']));
    await expect(late).rejects.toMatchObject({ status: 409, title: 'The review is finished' });
    for (const sql of [
      "update access_review_decisions set decision = 'revoke' where organization_id = ?",
      'insert or replace into access_review_decisions select * from access_review_decisions where organization_id = ?',
      'delete from access_review_decisions where organization_id = ?',
      'update access_reviews set finished_at = null, finished_by = null where organization_id = ?',
      'insert or replace into access_reviews select * from access_reviews where organization_id = ?',
      'delete from access_reviews where organization_id = ?',
    ]) {
      await expect(env.DB.prepare(sql).bind(organization).run()).rejects.toThrow('access_review');
    }
    expect(keysToRevoke((await readAccessReview(admin, reviewId)).keys)).toEqual([]);
  });
});

describe('a rotation while a review is open', () => {
  const stateOf = async (admin: AdminContext, id: string) => (await getOwnKey(admin, id)).state;

  test.each([
    ['after the decision', true],
    ['before the decision', false],
  ])('a rotation does not evade a decision to revoke: %s, the successors are revoked', async (_, isDecidedFirst) => {
    const { organization, admin, reviewId, ids, decide } = await makeReview(2);
    if (isDecidedFirst) await decide(0, 'revoke', 'Pilot ended');
    const second = await rotate(organization, ids[0] ?? '', { grace: '24h' });
    const third = await rotate(organization, second.id, { grace: 'now' });
    if (!isDecidedFirst) await decide(0, 'revoke', 'Pilot ended');
    await decide(1, 'keep');
    const { keys } = await readAccessReview(admin, reviewId);
    expect(keys.map(({ successors }) => successors.map(({ id }) => id))).toEqual([[second.id, third.id], []]);
    const toRevoke = keysToRevoke(keys).map(({ id }) => id);
    expect(toRevoke).toEqual([ids[0], third.id]);
    // A successor that the administrator has not confirmed.
    await expect(finishAccessReview(admin, reviewId, [ids[0] ?? ''])).rejects.toMatchObject(CHANGED);
    expect(await finishAccessReview(admin, reviewId, toRevoke)).toBe(2);
    expect([await stateOf(admin, third.id), await stateOf(admin, ids[1] ?? '')]).toEqual(['revoked', 'active']);
    expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({
      action: 'api_key.revoked',
      target_id: third.id,
      detail: 'decided in a review',
    });
  });

  test('a rotation does not evade the review: a key that it ends needs a decision while a successor works', async () => {
    const { organization, admin, reviewId, ids, decide, statuses } = await makeReview(1);
    const second = await rotate(organization, ids[0] ?? '', { grace: 'now' });
    const third = await rotate(organization, second.id, { grace: 'now' });
    expect(await statuses()).toEqual([['n8n: triage', 'undecided']]);
    await expect(finishAccessReview(admin, reviewId, [])).rejects.toMatchObject(CHANGED);
    expect(await decide(0, 'revoke', 'Pilot ended')).toBe(0);
    expect(await finishAccessReview(admin, reviewId, [third.id])).toBe(1);
    expect(await stateOf(admin, third.id)).toBe('revoked');
  });

  test('a key needs no decision if its successor has also ended', async () => {
    const { organization, admin, reviewId, ids, decide, statuses } = await makeReview(1);
    const second = await rotate(organization, ids[0] ?? '', { grace: 'now' });
    await revoke(organization, second.id);
    expect(await statuses()).toEqual([['n8n: triage', 'ended']]);
    expect(await decide(0, 'keep')).toBe(1);
    expect(await finishAccessReview(admin, reviewId, [])).toBe(0);
  });

  test('a rotation at the moment of finishing restarts the finish, and revokes nothing', async () => {
    const { organization, admin, reviewId, ids, decide } = await makeReview(1);
    await decide(0, 'revoke');
    const db = beforeFinish(() => rotate(organization, ids[0] ?? '', { grace: 'now' }));
    await expect(finishAccessReview({ ...admin, db }, reviewId, ids)).rejects.toMatchObject(CHANGED);
    const { keys } = await readAccessReview(admin, reviewId);
    expect(keysToRevoke(keys)).toMatchObject([{ state: 'active' }]);
  });

  test('a successor with its own decision stays as it is', async () => {
    const organization = await makeOrganization();
    const replaced = await makeKey(organization);
    const successor = await rotate(organization, replaced.id, { grace: '7d' });
    const admin = asAdmin(organization);
    const reviewId = await start(admin);
    const later = await rotate(organization, successor.id, { grace: '7d' });
    await decideKeys(admin, reviewId, [
      { keyId: replaced.id, decision: 'revoke', reason: 'Replaced' },
      { keyId: successor.id, decision: 'keep', reason: 'Used' },
    ]);
    expect(await finishAccessReview(admin, reviewId, [replaced.id, successor.id, later.id])).toBe(1);
    const states = await Promise.all([replaced, successor, later].map(({ id }) => stateOf(admin, id)));
    expect(states.map((state) => state === 'revoked')).toEqual([true, false, false]);
  });
});

test('the due date follows the requirement of reviews by the given months, then the last review', async () => {
  const organization = await makeOrganization({ timeZone: 'America/New_York' });
  const adminAt = (at: string) => asAdmin(organization, () => Date.parse(at));
  const dueAt = async (at: string) => (await readAccessReviews(adminAt(at), 8)).due;
  expect(await dueAt('2026-12-01T12:00:00Z')).toBeNull();
  // 30 November in New York.
  await changeKeyRules(adminAt('2026-12-01T03:00:00Z'), 0, { ...NO_KEY_RULES, accessReviewMonths: 3 });
  expect(await dueAt('2026-12-01T03:00:00Z')).toEqual({ date: '2027-02-28', daysLeft: 90 });
  expect(await dueAt('2027-03-02T12:00:00Z')).toEqual({ date: '2027-02-28', daysLeft: -2 });
  const later = adminAt('2027-03-02T12:00:00Z');
  await finishAccessReview(later, await start(later), []);
  expect(await dueAt('2027-03-02T12:00:00Z')).toEqual({ date: '2027-06-02', daysLeft: 92 });
  // A review that is only open does not change it.
  await start(later);
  expect(await dueAt('2027-06-02T12:00:00Z')).toEqual({ date: '2027-06-02', daysLeft: 0 });
});

test('a review counts as changes of a day, and its revocations work even at the limit', async () => {
  const organization = await makeOrganization();
  const admin = asAdmin(organization);
  const ctx = { ...admin, actor: { ...admin.actor, dayChanges: { limit: 3, timeZone: 'UTC' } } };
  const create = (name: string) => createApiKey(ctx, 'twb', { name, scopes: BOTH_SCOPES });
  const { id: keyId } = await create('one');
  const reviewId = await start(ctx);
  await decideKeys(ctx, reviewId, [{ keyId, decision: 'revoke', reason: 'unused' }]);
  await expect(create('two')).rejects.toMatchObject({ code: 'too_many_changes' });
  expect(await finishAccessReview(ctx, reviewId, [keyId])).toBe(1);
});
