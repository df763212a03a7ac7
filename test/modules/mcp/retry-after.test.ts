import { env } from 'cloudflare:workers';
import { expect, test, vi } from 'vitest';
import { aroundD1 } from '../../support/d1.ts';
import { makeKey, makeOrganization } from '../../support/world.ts';
import { makeMcpApi, NOTE_ARGUMENTS, resultOf } from './support.ts';

test('a call that the database refused asks to wait', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const DB = aroundD1(env.DB, (run, statements) =>
    statements === 1 ? run() : Promise.reject(new Error('D1 DB is overloaded. Too many requests queued.')),
  );
  const organization = await makeOrganization();
  const { value: key } = await makeKey(organization);
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  const tool = await resultOf(makeMcpApi({ bindings: { DB } }), key, 'add_internal_note', NOTE_ARGUMENTS);
  expect(tool.structuredContent).toMatchObject({ code: 'unavailable', retryAfterSeconds: 6 });
});
