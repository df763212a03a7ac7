import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { type BoundStatement, jsonObject, numberParameters, statement } from '../../src/db/statement.ts';

const first = async <Row>(bound: BoundStatement<Row>) => (await bound.all(env.DB)).results[0];

describe('a statement', () => {
  test('numbers its named parameters by their first use, and a repeated name is one parameter', async () => {
    const repeated = statement<{ b: string; a: string }, { result: string }>(
      "select :b || :a || :b as result where :a <> ''",
    );
    expect(numberParameters(repeated.text).sql).toBe("select ?1 || ?2 || ?1 as result where ?2 <> ''");
    expect(await first(repeated.bind({ a: 'a', b: 'b' }))).toEqual({ result: 'bab' });
  });

  test('distinguishes names with the same beginning', () => {
    const { sql } = numberParameters('select :id, :idOfOther, :id_2, :id');
    expect(sql).toBe('select ?1, ?2, ?3, ?1');
  });

  test('leaves string literals with colons alone', async () => {
    const literals = statement<{ a: string }, Record<string, string>>(
      "select 'tickets:note:write' as x, 'it''s :b' as y, :a as z, ':a' as w",
    );
    expect(numberParameters(literals.text).sql).toBe(
      "select 'tickets:note:write' as x, 'it''s :b' as y, ?1 as z, ':a' as w",
    );
    expect(await first(literals.bind({ a: 'value' }))).toEqual({
      x: 'tickets:note:write',
      y: "it's :b",
      z: 'value',
      w: ':a',
    });
  });

  test('throws when a value is missing, and accepts null, zero and the empty text', async () => {
    const two = statement<{ a: string | number | null; b: string }, object>('select :a as a, :b as b');
    // As a caller without types would call it.
    const incomplete: { a: string; b: string } = JSON.parse('{"a": "x"}');
    expect(() => two.bind(incomplete)).toThrow(':b');
    expect(await first(two.bind({ a: null, b: '' }))).toEqual({ a: null, b: '' });
    expect(await first(two.bind({ a: 0, b: 'x' }))).toEqual({ a: 0, b: 'x' });
  });

  test('binds only the values of its own parameters', async () => {
    const values = { extra: 1, a: 2 };
    expect(await first(statement<{ a: number }, object>('select :a as a').bind(values))).toEqual({ a: 2 });
  });
});

test('jsonObject returns the row as JSON, or null if the outer join found no row', async () => {
  const object = jsonObject({ id: 'id', createdAt: 'created_at' }, 'r');
  const { results } = await env.DB.prepare(
    `with numbers (id) as (values (1), (2)), rows (organization_id, id, created_at) as (values ('o', 1, 5))
       select ${object} as found from numbers left join rows r on r.id = numbers.id order by numbers.id`,
  ).all<{ found: string | null }>();
  expect(results.map(({ found }) => found && JSON.parse(found))).toEqual([{ id: 1, createdAt: 5 }, null]);
});
