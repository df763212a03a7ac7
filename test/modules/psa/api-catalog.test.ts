import { expect, test } from 'vitest';
import { readStatic } from '../../support/static-files.ts';
import { makeApi } from '../../support/world.ts';
import { PSA_SECRET } from './support.ts';

const ORIGIN = 'https://tickets.northwind.example';

test('the API catalog links each enabled API to its contract and its guide, and every link of it works', async () => {
  const full = makeApi({ origin: ORIGIN, vars: { PSA_SECRET } });
  const text = await (await full.send('/.well-known/api-catalog')).text();
  const links = [...text.matchAll(/"href":"([^"]+)","type":"([^"]+)"/g)];
  expect(new Set(links.map(([, href]) => href?.slice(ORIGIN.length)))).toEqual(
    new Set(['/api/v1/openapi.json', '/docs', '/docs/psa', '/psa/openapi.json', '/healthz']),
  );
  for (const [, href = '', type = ''] of links) {
    const path = href.slice(ORIGIN.length);
    const { status, headers } = await (path === '/healthz' ? full.send(path) : readStatic(path));
    expect([href, status, headers.get('Content-Type')?.split(';')[0]]).toEqual([href, 200, type]);
  }
});
