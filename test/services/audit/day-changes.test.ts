import { describe, expect, test } from 'vitest';
import { changeApiKey } from '../../../src/services/keys/change-key.ts';
import { changeKeyRules, getKeyRules } from '../../../src/services/keys/change-key-rules.ts';
import { createApiKey } from '../../../src/services/keys/create-key.ts';
import { getOwnKey } from '../../../src/services/keys/read-keys.ts';
import { revokeAllKeys, revokeAsAdministrator } from '../../../src/services/keys/revoke-key.ts';
import { rotateApiKey } from '../../../src/services/keys/rotate-key.ts';
import { asAdmin, BOTH_SCOPES, makeApi, makeKey, makeOrganization, NO_KEY_RULES, rowsOf } from '../../support/world.ts';

// The daily limit of changes by administrators.

const NOON = Date.parse('2026-10-20T12:00:00Z');

/** The administrator of a new organization in which `limit` changes a day are allowed. */
async function limitedTo(limit: number, { timeZone = 'UTC', at = NOON } = {}) {
  const organization = await makeOrganization({ timeZone });
  const clock = { now: at };
  const admin = asAdmin(organization, () => clock.now);
  const ctx = { ...admin, actor: { ...admin.actor, dayChanges: { limit, timeZone } } };
  const create = (name: string) => createApiKey(ctx, 'twb', { name, scopes: BOTH_SCOPES });
  return { organization, ctx, clock, create };
}

/** The latest audit row, which has the totals of the day. */
const latestRow = async (organization: string) => (await rowsOf('audit_log', organization)).at(-1);

const refuses = (change: Promise<unknown>) => expect(change).rejects.toMatchObject({ code: 'too_many_changes' });

describe('more changes in a day than the limit', () => {
  test('a refused change saves nothing', async () => {
    const { organization, ctx, create } = await limitedTo(3);
    const { id } = await create('one');
    const old = await getOwnKey(ctx, id);
    await changeApiKey(ctx, old, { name: 'two' });
    await changeKeyRules(ctx, 0, { ...NO_KEY_RULES, expiryRequired: true });
    const tables = async () => [await rowsOf('api_keys', organization), await rowsOf('audit_log', organization)];
    const before = await tables();

    await refuses(create('three'));
    const renamed = await getOwnKey(ctx, id);
    await refuses(changeApiKey(ctx, renamed, { name: 'three' }));
    await refuses(rotateApiKey(ctx, 'twb', renamed, { grace: 'now' }, crypto.randomUUID()));
    const { revision } = await getKeyRules(ctx);
    await refuses(changeKeyRules(ctx, revision, { ...NO_KEY_RULES, maxLifetimeDays: 6 }));
    expect(await tables()).toEqual(before);
  });

  test('the error contains the time from which changes are possible again', async () => {
    const { create } = await limitedTo(1, { timeZone: 'America/New_York' });
    await create('one');
    await expect(create('two')).rejects.toMatchObject({
      detail:
        'The change would exceed the daily limit of changes by the administrators of this organization: 1. Nothing was saved. Keys can still be revoked. Other changes are possible again after midnight in the organization’s time zone, America/New_York.',
    });
  });

  test('simultaneous changes are admitted exactly up to the limit', async () => {
    const { create } = await limitedTo(5);
    const outcomes = await Promise.allSettled(Array.from({ length: 12 }, (_, index) => create(`key ${index}`)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
  });

  test('a rotation counts as two changes, and is refused if only one fits', async () => {
    const { ctx, create } = await limitedTo(2);
    const key = await getOwnKey(ctx, (await create('one')).id);
    await refuses(rotateApiKey(ctx, 'twb', key, { grace: '1h' }, crypto.randomUUID()));
    expect(await getOwnKey(ctx, key.id)).toMatchObject({ successor: null });
  });
});

describe('revocations', () => {
  test('revocations of one key and of all keys work at the limit, and are not counted', async () => {
    const { organization, ctx, create } = await limitedTo(3);
    const keys = [await create('one'), await create('two'), await create('three')];
    await refuses(create('four'));
    expect(await revokeAsAdministrator(ctx, keys[0]?.id ?? '')).toBe('revoked');
    expect(await revokeAllKeys(ctx)).toBe(2);
    expect(await latestRow(organization)).toMatchObject({ day: '2026-10-20', day_changes: 3 });
  });
});

describe('the day of the limit', () => {
  test("the day begins at midnight in the organization's time zone", async () => {
    // 23:30 in New York.
    const { clock, create } = await limitedTo(1, {
      timeZone: 'America/New_York',
      at: Date.parse('2026-10-21T03:30:00Z'),
    });
    await create('one');
    clock.now += 29 * 60_000;
    await refuses(create('two'));
    clock.now += 60_000;
    await create('two');
  });

  test('an earlier day does not begin again: a change of the time zone gives no second limit', async () => {
    const { ctx, create } = await limitedTo(1, { timeZone: 'Pacific/Kiritimati' });
    await create('one');
    const west = { ...ctx, actor: { ...ctx.actor, dayChanges: { limit: 1, timeZone: 'Pacific/Niue' } } };
    await refuses(createApiKey(west, 'twb', { name: 'two', scopes: BOTH_SCOPES }));
  });

  test('a record keeps the count of changes, and a change keeps the count of records', async () => {
    const { organization, create, clock } = await limitedTo(2);
    const api = makeApi({ now: () => clock.now });
    const { value } = await makeKey(organization, {}, () => clock.now);
    await create('one');
    expect((await api.postNote(value)).status).toBe(201);
    await create('two');
    await refuses(create('three'));
    expect(await latestRow(organization)).toMatchObject({ day: '2026-10-20', day_records: 1, day_changes: 2 });
    clock.now += 86_400_000;
    expect((await api.postNote(value)).status).toBe(201);
    expect(await latestRow(organization)).toMatchObject({ day: '2026-10-21', day_changes: 0 });
    await create('three');
  });
});
