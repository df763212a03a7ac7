import { expect, test } from 'vitest';
import type { Config } from '../../src/config.ts';
import { PROBLEMS } from '../../src/http/problems.ts';
import { readStatic } from '../support/static-files.ts';
import { makeApi } from '../support/world.ts';

const ORIGIN = 'https://tickets.northwind.example';
const at = (config: Partial<Config> = {}) => makeApi({ origin: ORIGIN, config });

test('security.txt contains the configured contact, and does not exist without one', async () => {
  const securityContact = {
    addresses: ['mailto:security@northwind.example', 'https://northwind.example/report'],
    expires: '2027-06-30',
  };
  const response = await at({ securityContact }).send('/.well-known/security.txt');
  expect([response.status, response.headers.get('Content-Type')]).toEqual([200, 'text/plain; charset=utf-8']);
  expect(await response.text()).toBe(
    `Contact: mailto:security@northwind.example
Contact: https://northwind.example/report
Expires: 2027-06-30T23:59:59Z
Canonical: ${ORIGIN}/.well-known/security.txt
Preferred-Languages: en
`,
  );
  expect((await at().send('/.well-known/security.txt')).status).toBe(404);
});

test('the API catalog links the API to its contract and its guide, and every link of it works', async () => {
  const minimal = await at().send('/.well-known/api-catalog');
  expect(minimal.headers.get('Content-Type')).toBe(
    'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
  );
  const api = {
    anchor: `${ORIGIN}/api/v1`,
    'service-desc': [{ href: `${ORIGIN}/api/v1/openapi.json`, type: 'application/json' }],
    'service-doc': [{ href: `${ORIGIN}/docs`, type: 'text/html' }],
    status: [{ href: `${ORIGIN}/healthz`, type: 'application/json' }],
  };
  expect(await minimal.json()).toEqual({
    linkset: [{ anchor: `${ORIGIN}/.well-known/api-catalog`, item: [{ href: api.anchor }] }, api],
  });

  for (const { href, type } of [...api['service-desc'], ...api['service-doc']])
    expect((await readStatic(href.slice(ORIGIN.length))).headers.get('Content-Type')).toContain(type);
});

test('HEAD of the API catalog returns its link, without a body', async () => {
  const response = await at().send('/.well-known/api-catalog', { method: 'HEAD' });
  expect([response.status, response.headers.get('Link'), await response.text()]).toEqual([
    200,
    '</.well-known/api-catalog>; rel="api-catalog"',
    '',
  ]);
});

test("every problem's type can be opened: it leads to the explanation of its code", async () => {
  const response = await at().send('/nowhere');
  expect(await response.json()).toMatchObject({ type: `${ORIGIN}/docs/errors#not_found`, code: 'not_found' });
  const page = await (await readStatic('/docs/errors')).text();
  for (const code of Object.keys(PROBLEMS)) expect(page).toContain(`id="${code}"`);
});
