import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import type { ActorContext, SystemActor } from '../../../src/services/context.ts';
import { findKeysAnywhere, getKeyAnywhere, getOwnKey } from '../../../src/services/keys/read-keys.ts';
import { revokeAsOperator } from '../../../src/services/keys/revoke-key.ts';
import { rotateApiKey } from '../../../src/services/keys/rotate-key.ts';
import { aroundD1, countD1 } from '../../support/d1.ts';
import { asAdmin, config, makeApi, makeKey, makeOrganization, rowsOf } from '../../support/world.ts';

const asOperator = (db = env.DB): ActorContext<SystemActor> => ({
  db,
  now: Date.now,
  deadlineAt: Date.now() + 10_000,
  requestId: crypto.randomUUID(),
  actor: 'operator',
  source: { address: null, userAgent: 'operator' },
});

test('an operator’s revocation ends a key that an isolate remembers, and says in the audit log and the settings who asked', async () => {
  const organization = await makeOrganization();
  const { id, value, hint } = await makeKey(organization);
  const api = makeApi();
  expect((await api.postNote(value)).status).toBe(201);

  const found = await getKeyAnywhere(asOperator(), { organization, key: id });
  expect(await findKeysAnywhere(asOperator(), ` Bearer ${value}\n`)).toEqual([found]);
  expect(found).toMatchObject({
    id,
    hint,
    organizationId: organization,
    organization: 'Northwind',
    name: 'n8n: triage',
    state: 'active',
  });
  const request = { organization, key: id, by: 'Ada, phone call' };
  const revoked = await revokeAsOperator(asOperator(), request);
  expect(revoked.status).toBe('revoked');

  expect((await api.postNote(value)).status).toBe(401);
  expect((await api.send('/api/v1/ping', { key: value })).status).toBe(401);
  expect(await rowsOf('notes', organization)).toHaveLength(1);
  expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({
    action: 'api_key.revoked',
    target_id: id,
    actor_type: 'system',
    actor_id: 'operator',
    actor_name: 'Ada, phone call',
    at: revoked.revokedAt,
  });
  expect(await getOwnKey(asAdmin(organization), id)).toMatchObject({
    state: 'revoked',
    revokedBy: 'operator (Ada, phone call)',
  });

  expect(await revokeAsOperator(asOperator(), request)).toEqual({
    status: 'already_revoked',
    revokedAt: revoked.revokedAt,
  });
  expect(await rowsOf('audit_log', organization)).toHaveLength(3);
});

test('a revocation whose audit row fails is none, and one that is committed twice is one', async () => {
  const organization = await makeOrganization();
  const { id } = await makeKey(organization);
  const request = { organization, key: id, by: 'Ada' };
  await env.DB.prepare(
    `create trigger no_audit before insert on audit_log when new.organization_id = '${organization}' begin select raise(abort, 'no'); end`,
  ).run();
  await expect(revokeAsOperator(asOperator(), request)).rejects.toThrow();
  await env.DB.prepare('drop trigger no_audit').run();
  expect(await getKeyAnywhere(asOperator(), { organization, key: id })).toMatchObject({ state: 'active' });

  const twice = aroundD1(env.DB, async (run) => {
    await run();
    return run();
  });
  expect(await revokeAsOperator(asOperator(twice), request)).toMatchObject({ status: 'already_revoked' });
  expect((await rowsOf('audit_log', organization)).map(({ action }) => action)).toEqual([
    'api_key.created',
    'api_key.revoked',
  ]);
});

test('what names no key, or another organization’s, is declined by name', async () => {
  const [own, other] = [await makeOrganization(), await makeOrganization()];
  const { id, value } = await makeKey(other);
  const named = { organization: own, key: id };
  const declined = { code: 'key_not_found', detail: `Organization ${own} has no key ${id}.` };
  await expect(getKeyAnywhere(asOperator(), named)).rejects.toMatchObject(declined);
  await expect(revokeAsOperator(asOperator(), { ...named, by: 'Ada' })).rejects.toMatchObject(declined);
  await expect(revokeAsOperator(asOperator(), { organization: own, key: 'x', by: '' })).rejects.toMatchObject({
    errors: [{ pointer: '/key' }, { pointer: '/by' }],
  });
  await expect(findKeysAnywhere(asOperator(), value.slice(1))).rejects.toMatchObject({ code: 'not_a_key' });
  await expect(findKeysAnywhere(asOperator(), value.slice(0, -1))).rejects.toMatchObject({ code: 'not_a_key' });
  expect(await findKeysAnywhere(asOperator(), 'twb_0000…0000')).toEqual([]);
});

test('a hint is looked up in every organization, without reading the keys that have others', async () => {
  const [first, second] = [await makeOrganization(), await makeOrganization()];
  const [one, two] = [await makeKey(first), await makeKey(second)];
  await env.DB.prepare('update api_keys set hint = ? where id = ?').bind(one.hint, two.id).run();
  const read = async () => {
    const { db, calls } = countD1(env.DB);
    const found = await findKeysAnywhere(asOperator(db), one.hint.replace('…', '...'));
    expect(found).toMatchObject([{ id: one.id }, { id: two.id }]);
    return calls[0]?.rowsRead ?? 0;
  };
  const before = await read();
  await env.DB.prepare(
    `insert into api_keys (organization_id, id, chain_id, name, hash, hint, scopes, created_at, created_by)
     with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 1000)
     select ?, n, n, n, printf('%064x', n), 'twb_other', 'tickets:note:write', 1, 'ada' from numbers`,
  )
    .bind(second)
    .run();
  // One more: where the range of the index ends there is a row now.
  expect(await read()).toBeLessThanOrEqual(before + 1);
});

test('the other key of a rotation is named while it still works', async () => {
  const organization = await makeOrganization();
  const { id } = await makeKey(organization);
  const old = await getOwnKey(asAdmin(organization), id);
  const successor = await rotateApiKey(
    asAdmin(organization),
    config().keyPrefix,
    old,
    { grace: '24h' },
    crypto.randomUUID(),
  );
  const relatives = async (key: string) => (await getKeyAnywhere(asOperator(), { organization, key })).liveRelatives;

  expect(await relatives(id)).toEqual([{ id: successor.id, hint: successor.hint, how: 'replaces it' }]);
  expect(await relatives(successor.id)).toEqual([{ id, hint: old.hint, how: 'it replaces' }]);
  await revokeAsOperator(asOperator(), { organization, key: successor.id, by: 'Ada' });
  expect(await relatives(id)).toEqual([]);
});
