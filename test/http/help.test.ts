import { expect, test } from 'vitest';
import type { Config } from '../../src/config.ts';
import { PROBLEMS } from '../../src/http/problems.ts';
import { readStatic } from '../support/static-files.ts';
import { makeApi } from '../support/world.ts';

const ORIGIN = 'https://tickets.northwind.example';
const at = (config: Partial<Config> = {}) => makeApi({ origin: ORIGIN, config });

test('a response of 500 or more has the address for help, and a 401 never has', async () => {
  const supportUrl = 'https://help.northwind.example';
  const linkOf = async (config: Partial<Config>) => (await at(config).send('/api/v1/ping')).headers.get('Link');
  expect(await linkOf({ supportUrl, mode: 'paused' })).toBe(`<${supportUrl}>; rel="help"`);
  expect([await linkOf({ supportUrl }), await linkOf({ mode: 'paused' })]).toEqual([null, null]);
});

test("every problem's type can be opened: it leads to the explanation of its code", async () => {
  const response = await at().send('/nowhere');
  expect(await response.json()).toMatchObject({ type: `${ORIGIN}/docs/errors#not_found`, code: 'not_found' });
  const page = await (await readStatic('/docs/errors')).text();
  for (const code of Object.keys(PROBLEMS)) expect(page).toContain(`id="${code}"`);
});
