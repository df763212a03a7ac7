import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { aroundD1 } from '../../support/d1.ts';
import { countElements, elementsOf } from '../../support/page.ts';
import { makeSettings, NEW_KEY, signIn } from '../../support/settings.ts';
import { readStatic } from '../../support/static-files.ts';
import { config, rowsOf } from '../../support/world.ts';

test('an isolate creates the routes of the settings area at the first request for one', () => {
  const { routes } = createApp(config(), []);
  expect(routes.filter(({ path }) => path.startsWith('/settings')).map(({ path }) => path)).toEqual(['/settings/*']);
});

describe('a form', () => {
  test.each([
    ['another media type', { 'Content-Type': 'application/json' }, 415],
    ['a form feed before the media type', { 'Content-Type': '\x0capplication/x-www-form-urlencoded' }, 415],
    ['a vertical tab before it', { 'Content-Type': '\x0bapplication/x-www-form-urlencoded' }, 415],
    ['a multipart body', { 'Content-Type': 'multipart/form-data; boundary=x' }, 415],
    ['another origin', { Origin: 'https://evil.example' }, 403],
    ['an opaque origin of another site', { Origin: 'null', 'Sec-Fetch-Site': 'cross-site' }, 403],
  ])('a form with %s is refused', async (_, headers, status) => {
    const { organization, post } = await makeSettings();
    expect((await post('/keys', { token: crypto.randomUUID(), ...NEW_KEY }, headers)).status).toBe(status);
    expect((await post('/revoke-all', {}, headers)).status).toBe(status);
    expect(await rowsOf('audit_log', organization)).toEqual([]);
  });

  test.each(['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'])(
    'a form from another site is refused with the method %s, whatever the path',
    async (method) => {
      const { api, base, headers } = await makeSettings();
      const statusFrom = async (path: string, origin: Record<string, string>) => {
        const { Origin, ...others } = headers;
        return (await api.send(path, { method, headers: { ...others, ...origin } })).status;
      };
      for (const path of ['/settings', `${base}/keys`, `${base}/revoke-all`, `${base}/nowhere`]) {
        expect(await statusFrom(path, { Origin: 'https://evil.example' })).toBe(403);
        expect(await statusFrom(path, { 'Sec-Fetch-Site': 'cross-site' })).toBe(403);
        expect(await statusFrom(path, {})).toBe(403);
        expect(await statusFrom(path, { Origin: headers.Origin })).toBe(404);
      }
    },
  );

  test('a form with a foreign token, too much text, or no page at that address is refused', async () => {
    const { organization, post, createKey } = await makeSettings();
    expect((await createKey({ token: 'mine' })).status).toBe(400);
    expect((await createKey({ name: 'x'.repeat(600_000) })).status).toBe(413);
    expect((await post('/nowhere', {})).status).toBe(404);
    expect(await rowsOf('api_keys', organization)).toEqual([]);
  });
});

test('an address with a slash at its end redirects to the page without it, even before the sign-in', async () => {
  const { api, base, headers } = await makeSettings();
  const signedIn = { headers: { 'Cf-Access-Jwt-Assertion': headers['Cf-Access-Jwt-Assertion'] } };
  for (const path of ['/settings', base, `${base}/keys`])
    for (const request of [signedIn, {}]) {
      const response = await api.send(`${path}/?q=1`, request);
      expect([response.status, response.headers.get('Location')]).toEqual([301, `https://api.example${path}?q=1`]);
    }
});

test('every page forbids foreign scripts, frames and caches', async () => {
  const { get } = await makeSettings();
  const { headers } = await get('/keys');
  expect(headers.get('Content-Security-Policy')).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  );
  expect(headers.get('Cache-Control')).toBe('no-store');
  expect(headers.get('X-Frame-Options')).toBe('DENY');
  expect(headers.get('Strict-Transport-Security')).toBe('max-age=31536000');
});

describe('the menu of the administrator', () => {
  const helpOn = (place: string) => ['Help for administrators', `/docs/administrators${place}`];
  /** The links of the menu, and who is signed in. */
  async function menuOf(page: string) {
    const links = await elementsOf(page, 'header details.user .pop a');
    const who = await elementsOf(page, 'header details.user .pop bdi');
    return {
      links: links.map(({ attributes, text }) => [text, attributes['href']]),
      who: who.map(({ text }) => text),
    };
  }

  test('the menu opens without script, and contains the name, the address, the administrators, the help for the tab and the sign-out', async () => {
    const { organization, base, get } = await makeSettings();
    const places = { '/keys': '', '/audit': '#audit', '/time': '#approval', '/keys/unknown': '' };
    const help = await elementsOf(await (await readStatic('/docs/administrators')).text(), 'article h2');
    const ids = ['', ...help.map(({ attributes }) => `#${attributes['id']}`)];
    for (const [path, place] of Object.entries(places)) {
      expect(ids).toContain(place);
      const { text } = await get(path);
      expect(await menuOf(text), path).toEqual({
        links: [['Administrators', `${base}/key-rules#administrators`], helpOn(place), ['Sign out', '/sign-out']],
        who: ['Ada &lt;b&gt;Lovelace&lt;/b&gt;', `ada@${organization}.example`],
      });
      expect(await countElements(text, 'header details.user > summary')).toBe(1);
    }
  });

  test('the menu contains no sign-out if the sign-in service has no path for it', async () => {
    const { get } = await makeSettings({ config: { signIn: { ...signIn.config, signOutPath: undefined } } });
    expect((await menuOf((await get('/keys')).text)).links.at(-1)).toEqual(helpOn(''));
  });

  test('a page without an administrator contains no menu', async () => {
    const { api } = await makeSettings();
    const response = await api.send('/settings/nowhere/keys');
    expect([response.status, await countElements(await response.text(), 'details.user')]).toEqual([401, 0]);
  });
});

describe('an error page', () => {
  test('the page contains the navigation of the organization in its address, a search and a link back', async () => {
    const { base, get } = await makeSettings();
    for (const [path, marked] of [
      [`/keys/${crypto.randomUUID()}`, ['API keys']],
      ['/time/nothing', ['Time']],
      ['/nowhere', []],
    ] as const) {
      const { status, text } = await get(path);
      expect([status, await countElements(text, 'nav[aria-label=Settings]')]).toEqual([404, 1]);
      expect(await countElements(text, `main a[href="${base}/keys"]`)).toBe(1);
      expect(await countElements(text, `main form[action="${base}/keys"] input[name=q]`)).toBe(1);
      const tabs = await elementsOf(text, 'nav[aria-label=Settings] [aria-current]');
      expect([path, tabs.map((tab) => tab.text)]).toEqual([path, marked]);
    }
  });

  test('the page about a lost database explains how to stop a key only if a change may be lost', async () => {
    let down = false;
    const DB = aroundD1(env.DB, (run) =>
      down ? Promise.reject(new Error('D1 DB is overloaded. Too many requests queued.')) : run(),
    );
    const { get, post } = await makeSettings({ bindings: { DB } });
    down = true;
    const [read, written] = [await get('/audit'), await post('/revoke-all', { organization: 'Northwind' })];
    expect([read.status, written.status]).toEqual([503, 503]);
    expect([read.text.includes('BLOCKED_KEYS'), written.text.includes('BLOCKED_KEYS')]).toEqual([false, true]);
  });
});
