import { describe, expect, test } from 'vitest';
import { ERROR_TEXTS } from '../../src/docs/errors.ts';
import { RECIPES } from '../../src/docs/recipes.ts';
import { OTHER_WORDS, renderDocs } from '../../src/docs/render.tsx';
import { generateKey } from '../../src/domain/api-key.ts';
import { PROBLEMS } from '../../src/http/problems.ts';
import { elementsOf } from '../support/page.ts';
import { readStatic } from '../support/static-files.ts';
import { config, makeApi } from '../support/world.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';

describe('an address with nothing', () => {
  const api = makeApi();
  const at = (path: string, accept?: string, method = 'GET') =>
    api.send(path, { method, headers: accept === undefined ? {} : { Accept: accept } });

  test.each(['/nothing', '/docs/nothing', '/docs/recipes/nothing', '/.env', '/api', '/mcp', '/psa', '/settings.css'])(
    '%s returns a page in the frame to a browser',
    async (path) => {
      const response = await at(path, BROWSER);
      const page = await response.text();
      const { status, headers } = response;
      expect([status, headers.get('Content-Type')]).toEqual([404, 'text/html; charset=utf-8']);
      expect(headers.get('Content-Security-Policy')).toMatch(/^default-src 'none'; script-src 'self';/);
      expect([headers.get('Cache-Control'), headers.get('ETag')]).toEqual(['no-store', null]);
      expect(headers.get('X-Request-Id')).not.toBeNull();
      expect((await elementsOf(page, 'h1')).map(({ text }) => text)).toEqual(['Nothing here']);
      expect((await elementsOf(page, '[data-asked]')).map(({ text }) => text)).toEqual([path]);
      expect((await elementsOf(page, 'main a[href="/docs"]')).length).toBeGreaterThan(0);
    },
  );

  test('the page shows the path as text, only its start, and no key', async () => {
    const shown = async (path: string) =>
      (await elementsOf(await (await at(path, BROWSER)).text(), '[data-asked]')).map(({ text }) => text);
    expect(await shown('/%3Cb%3Eno')).toEqual(['/&lt;b&gt;no']);
    expect(await shown(`/${'x'.repeat(500)}`)).toEqual([`/${'x'.repeat(119)}`]);
    expect(await shown(`/docs/${generateKey('twb')}`)).toEqual(['/docs/twb_[removed]']);
  });

  test('HEAD returns the same status without a body', async () => {
    const response = await at('/nothing', BROWSER, 'HEAD');
    expect([response.status, await response.text()]).toEqual([404, '']);
  });

  test('a browser gets the problem document if the page was not deployed', async () => {
    const ASSETS = { fetch: async () => new Response('', { status: 404 }), connect: () => expect.unreachable() };
    const response = await makeApi({ bindings: { ASSETS } }).send('/nothing', { headers: { Accept: BROWSER } });
    expect([response.status, response.headers.get('Content-Type')]).toEqual([404, 'application/problem+json']);
  });

  test.each([
    undefined,
    '*/*',
    'application/json',
    'application/problem+json',
    'application/json, text/plain, */*',
    'application/json, text/html',
    'text/html;q=0.5, application/json',
    'text/html;q=0, */*',
    'text/plain',
    'nonsense',
  ])('the address returns the same problem document for Accept: %s', async (accept) => {
    const response = await at('/nothing', accept);
    expect([response.status, response.headers.get('Content-Type')]).toEqual([404, 'application/problem+json']);
    expect(response.headers.get('Content-Security-Policy')).toBeNull();
    const requestId = response.headers.get('X-Request-Id');
    const [type, ...others] = (await response.text()).split(',');
    expect(type).toMatch(/^\{"type":"[^"]*\/docs\/errors#not_found"$/);
    expect(others.join()).toBe(
      `"title":"Not found","status":404,"code":"not_found","detail":"There is nothing at this path; the API is at /api/v1.","requestId":"${requestId}"}`,
    );
  });

  test.each(['/api/v1/nothing', '/api/v2/ping', '/api/v1/ping'])('%s returns JSON even to a browser', async (path) => {
    for (const method of ['GET', 'POST'])
      expect((await at(path, BROWSER, method)).headers.get('Content-Type')).toBe('application/problem+json');
  });
});

test('static files have the security headers of the settings area', async () => {
  const securityHeadersOf = ({ headers }: Response) =>
    Object.fromEntries(
      [...headers].filter(([name]) => /policy|origin|security|^x-/.test(name) && name !== 'x-request-id'),
    );
  const settings = securityHeadersOf(await makeApi().send('/settings'));
  expect(Object.keys(settings).length).toBeGreaterThan(8);
  const expected = {
    ...settings,
    'content-security-policy': settings['content-security-policy']?.replace("form-action 'self'", "form-action 'none'"),
    'referrer-policy': 'no-referrer',
  };
  for (const path of ['/docs', '/docs/recipes/make', '/api/v1/openapi.json', '/icon.svg'])
    expect([path, securityHeadersOf(await readStatic(path))]).toEqual([path, expected]);
});

describe('the documentation', () => {
  const read = async (path: string) => (await readStatic(path)).text();

  test('the documentation is the same at / and /docs', async () => {
    expect(await read('/')).toBe(await read('/docs'));
  });

  test('the pages state limits, key prefix and SERVICE_URL as deployed', async () => {
    const files = await renderDocs(
      config({
        serviceUrl: 'https://tickets.example:8443',
        supportUrl: 'mailto:help@tickets.example',
        keyPrefix: 'stage',
        keyLimit: { quota: 7, windowMs: 3_000 },
      }),
    );
    const textOf = async (name: string, selector: string) =>
      (await elementsOf(files.get(name) ?? '', selector)).map(({ text }) => text).join(' ');
    const reference = await textOf('docs/reference.html', 'article');
    expect(reference).toContain('https://tickets.example:8443/api/v1/tickets/$TICKET_ID/notes');
    expect(files.get('docs/limits.md')).toContain('7 requests in any 3 seconds per key');
    expect(files.get('llms.txt')).toContain('(https://tickets.example:8443/docs/recipes/make.md)');
    expect(await textOf('docs/recipes/zapier.html', '[data-host]')).toBe('tickets.example');
    expect(await textOf('docs/data.html', 'a[href="mailto:help@tickets.example"]')).not.toBe('');
    expect(await textOf('docs/limits.html', 'article')).toContain('7 requests in any 3 seconds per key');
    expect(await textOf('docs/changelog.html', 'h2')).toContain('1.0.0');
    expect(await textOf('docs/keys.html', 'article')).toContain('stage_[0-9A-Za-z]');
    expect(JSON.parse(files.get('api/v1/openapi.json') ?? '')).toMatchObject({
      servers: [{ url: 'https://tickets.example:8443/api/v1' }],
      info: { description: expect.stringContaining('7 requests in any 3 seconds per key') },
    });
    for (const [name, text] of files)
      expect([name, text]).not.toEqual([name, expect.stringContaining('service.invalid')]);
  });

  test.each(['/docs', '/docs/recipes'])('%s has a tile for each recipe', async (path) => {
    const links = await elementsOf(await read(path), '.tiles a');
    const recipes = links.map(({ attributes }) => attributes['href']).filter((href) => /recipes\//.test(href ?? ''));
    expect(recipes).toEqual(RECIPES.map(({ slug }) => `/docs/recipes/${slug}`));
  });

  test('security.txt contains the contact of the deployment, and does not exist without one', async () => {
    const addresses = ['mailto:security@tickets.example', 'https://tickets.example/report'];
    const securityContact = { addresses, expires: '2027-06-30' };
    const files = await renderDocs(config({ serviceUrl: 'https://tickets.example', securityContact }));
    expect(files.get('.well-known/security.txt')).toBe(
      `Contact: mailto:security@tickets.example
Contact: https://tickets.example/report
Expires: 2027-06-30T23:59:59Z
Canonical: https://tickets.example/.well-known/security.txt
Preferred-Languages: en
`,
    );
    expect([...(await renderDocs(config())).keys()].filter((name) => name.endsWith('.txt'))).toEqual(['llms.txt']);
  });

  test('explains every error of the API, with an example that has its code', async () => {
    expect([...ERROR_TEXTS.keys()]).toEqual(Object.keys(PROBLEMS));
    const page = await read('/docs/errors.md');
    const examples = Array.from(page.matchAll(/^```json Example of (\w+)\n(.+?)\n```$/gms), ([, name, text = '']) => {
      const { code = 'unauthorized', title } = JSON.parse(text);
      return [name, code, title];
    });
    const expected = Object.entries(PROBLEMS).map(([code, { title }]) => [code, code, title]);
    expect(examples).toEqual([['unauthorized', 'unauthorized', 'Unauthorized'], ...expected]);
  });

  test('each page exists as Markdown, without comments of the source, empty sections and torn tables, and llms.txt lists it with its lead', async () => {
    const files = await renderDocs(config());
    const list = files.get('llms.txt') ?? '';
    const pages = [...files.keys()].filter((name) => name.endsWith('.html') && !/^(404|index)\.html$/.test(name));
    expect(pages.length).toBeGreaterThanOrEqual(6 + RECIPES.length);
    for (const name of pages) {
      const path = name.replace(/\.html$/, '.md');
      expect([path, files.get(path)]).toEqual([path, expect.stringMatching(/^# .+\n\n\S/)]);
      expect([path, files.get(path)]).not.toEqual([path, expect.stringMatching(/<!--|\{#|service\.invalid/)]);
      const withoutCode = files.get(path)?.replaceAll(/^```.*?^```/gms, 'Code');
      expect([path, withoutCode]).not.toEqual([path, expect.stringMatching(/^(#+) .+\n+(\1 |(?![\s\S]))/m)]);
      expect([name, files.get(name)]).not.toEqual([name, expect.stringMatching(/<p>\||<tbody><\/tbody>/)]);
      expect(list.split('\n')).toContainEqual(expect.stringMatching(new RegExp(`\\(/${path}\\): .+\\.$`)));
      const links = await elementsOf(files.get(name) ?? '', 'article a');
      expect(links.map(({ attributes }) => attributes['href'])).toContain(`/${path}`);
    }
  });

  test('the search index has at most 40 KB compressed, and finds pages, headings and error codes', async () => {
    const text = (await renderDocs(config())).get('docs/search.json') ?? '';
    const compressed = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'));
    expect((await new Response(compressed).arrayBuffer()).byteLength).toBeLessThanOrEqual(40_000);
    const index = new Map<string, string>(JSON.parse(text));
    expect(index.get('/docs/recipes/make')).toBe('Write back from Make');
    expect(index.get('/docs/errors#rate_limited')).toMatch(/^rate_limited 429/);
    expect(index.get('/docs/reference#createNote')).toBe('Add an internal note to a ticket');
    expect(index.get('/docs/concepts#retries')).toBe('Why retries are safe');
    expect(index.get('/docs/data#can-i-delete-or-correct-a-note')).toBe('Can I delete or correct a note?');
    const places: [string, string, string, string, string?][] = JSON.parse(text);
    for (const [address, others] of Object.entries(OTHER_WORDS))
      expect(places.find(([place]) => place === address)?.[4]?.split(' '), address).toEqual(
        expect.arrayContaining(others.split(' ')),
      );
    for (const address of ['/docs/concepts#glossary', '/docs/errors', '/docs/data#support'])
      expect(index.has(address), address).toBe(true);
  });
});
