import { expect, test } from 'vitest';
import { generateKey, hashKey, keyHint, withoutKeys } from '../../src/domain/api-key.ts';
import { rememberBody, rememberKey, secretsIn } from '../support/secrets.ts';

// The search that every test's log goes through: it must find what it is for.

test('the search of the logs finds keys, hashes, headers, bodies, texts and SQL, and nothing in what is logged on purpose', async () => {
  const [known, stranger] = [generateKey('twb'), generateKey('stg')];
  await rememberKey(known);
  rememberBody('{"message": "The disk was full,\\nold logs removed", "note": "short"}');
  rememberBody('not JSON: the customer said hello');
  const secrets = [
    `value ${stranger}`,
    `part ${known.slice(4, 24)}`,
    `hash ${await hashKey(stranger)}`,
    `part of a hash ${(await hashKey(known)).slice(0, 20)}`,
    'Authorization: Bearer nothing',
    '{"body":{"message":"x"}}',
    '{"body":"{\\"description\\":\\"x\\"}"}',
    'text The disk was full,\nold',
    JSON.stringify({ text: 'The disk was full,\nold' }),
    'text not JSON: the customer',
    'near "x": syntax error in insert into "notes" values (1)',
    'select id from users',
  ];
  for (const secret of secrets)
    expect([secret, secretsIn(['before', secret, 'after']).length > 0]).toEqual([secret, true]);

  const line = {
    event: 'request',
    requestId: '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6071',
    route: '/api/v1/tickets/:ticketId/notes',
    key: '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6072',
    userAgent: withoutKeys(`flow ${known}`, 'twb'),
  };
  expect(
    secretsIn([JSON.stringify(line), `hint ${keyHint(known)}`, 'remembered keys against a model: 40 runs']),
  ).toEqual([]);
});

test.each([1, 11, 12, 30, 46, 60])(
  'of a key value in a text from outside, %i characters behind the prefix',
  (length) => {
    const value = `${generateKey('twb')}${'x'.repeat(20)}`.slice(0, 4 + length);
    const removed = length >= 12;
    expect(withoutKeys(`a ${value}, b ${value}`, 'twb')).toBe(
      removed ? 'a twb_[removed], b twb_[removed]' : `a ${value}, b ${value}`,
    );
    expect(withoutKeys(value, 'stg')).toBe(length >= 40 ? 'twb_[removed]' : value);
  },
);
