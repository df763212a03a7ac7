import { env } from 'cloudflare:workers';
import { expect, test, vi } from 'vitest';
import { aroundD1 } from '../../support/d1.ts';
import { makeOrganization } from '../../support/world.ts';
import { makePsa } from './support.ts';

test.each([
  [0, '4'],
  [0.5, '6'],
  [0.999, '8'],
])('with the random number %d, a call that the database refused asks to wait %s s', async (random, seconds) => {
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const DB = aroundD1(env.DB, (run, statements) =>
    statements === 1 ? run() : Promise.reject(new Error('D1 DB is overloaded. Too many requests queued.')),
  );
  const organization = await makeOrganization();
  vi.spyOn(Math, 'random').mockReturnValue(random);
  const psa = await makePsa({ bindings: { DB } }).post({ type: 'work.changes', data: { organization, cursor: null } });
  expect([psa.status, psa.headers.get('Retry-After')]).toEqual([503, seconds]);
});
