import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { findKeysAnywhere, getKeyAnywhere, liveRelativesOf } from '../../../src/services/keys/read-keys.ts';
import { countD1 } from '../../support/d1.ts';
import { asOperator, makeKey, makeOrganization, revoke, rotate } from '../../support/world.ts';

describe("an operator's search", () => {
  test('a key is found by its hint in every organization, without reading keys with other hints', async () => {
    const [first, second] = [await makeOrganization(), await makeOrganization()];
    const [one, two] = [await makeKey(first), await makeKey(second)];
    await env.DB.prepare('update api_keys set hint = ? where id = ?').bind(one.hint, two.id).run();
    const rowsRead = async () => {
      const { db, calls } = countD1(env.DB);
      const found = await findKeysAnywhere(asOperator(db), one.hint.replace('…', '...'));
      expect(found).toMatchObject([{ id: one.id }, { id: two.id }]);
      return calls[0]?.rowsRead ?? 0;
    };
    const before = await rowsRead();
    await env.DB.prepare(
      `insert into api_keys (organization_id, id, chain_id, name, hash, hint, scopes, created_at, created_by)
       with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 1000)
       select ?, n, n, n, printf('%064x', n), 'twb_other', 'tickets:note:write', 1, 'ada' from numbers`,
    )
      .bind(second)
      .run();
    // One row more: the row after the range of the index.
    expect(await rowsRead()).toBeLessThanOrEqual(before + 1);
  });

  test('the other key of a rotation is found while it works', async () => {
    const organization = await makeOrganization();
    const old = await makeKey(organization);
    const successor = await rotate(organization, old.id, { grace: '24h' });
    const relatives = async (key: string) =>
      liveRelativesOf(asOperator(), await getKeyAnywhere(asOperator(), { organization, key }));
    expect(await relatives(old.id)).toMatchObject([{ id: successor.id, hint: successor.hint, how: 'replaces it' }]);
    expect(await relatives(successor.id)).toMatchObject([{ id: old.id, hint: old.hint, how: 'it replaces' }]);
    await revoke(organization, successor.id);
    expect(await relatives(old.id)).toEqual([]);
  });
});
