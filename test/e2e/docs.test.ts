import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { transform } from 'esbuild';
import type { Browser, BrowserContextOptions, Page, Response } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { accessibilityViolations, follow, keepRules, overflowOf, watch } from '../support/browser.ts';
import { faultsOf } from '../support/page-faults.ts';
import { docsPages } from '../support/recipes.ts';
import { connectBrowser, sharedServer } from '../support/shared.ts';

const PAGES = docsPages();
const WRONG_ADDRESS = '/nothing-here';

let server: Awaited<ReturnType<typeof sharedServer>>;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([sharedServer(), connectBrowser()]);
});
afterAll(() => browser?.close());

/** A page in a context of its own, and the list of its complaints. */
async function open(path: string, options: BrowserContextOptions = {}): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints = watch(page, server.url);
  await page.goto(server.url + path);
  return { page, complaints };
}

const SCRIPTS = '[...document.scripts].map((script) => script.getAttribute("src") ?? script.textContent)';
/** Attributes that contain script. */
const HANDLERS = `[...document.querySelectorAll('*')].flatMap((one) =>
  one.getAttributeNames().filter((name) => name.startsWith('on')))`;

/** The scripts that were compared. */
const known = new Set<string>();

/** Every script of the open page is a file of this project, and no other may run. */
async function expectOwnScripts(page: Page, response: Response | null): Promise<void> {
  for (const script of z.array(z.string()).parse(await page.evaluate(SCRIPTS))) {
    if (known.has(script)) continue;
    const file = await readFile(join('src/assets', script.replace(/\.[0-9a-f]{8}\./, '.')));
    const { code } = await transform(file, { minify: true });
    expect([script, await (await fetch(server.url + script)).text()]).toEqual([script, code]);
    known.add(script);
  }
  expect(await page.evaluate(HANDLERS)).toEqual([]);
  const policy = response?.headers()['content-security-policy']?.split('; ') ?? [];
  expect(policy.filter((rule) => /^(default|script|style|connect|worker)/.test(rule))).toEqual([
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
  ]);
}

/** The longest paragraphs in their average number of characters in a line. */
const CHARACTERS_PER_LINE = `[...document.querySelectorAll('article > p')].map((p) => {
  const range = document.createRange();
  range.selectNodeContents(p);
  const lines = p.getBoundingClientRect().height / Number.parseFloat(getComputedStyle(p).lineHeight);
  return lines < 3 ? 0 : p.textContent.length / Math.round(lines);
})`;

describe('on a page that stays open, whose process compiles the rules only once,', () => {
  let page: Page;
  let complaints: string[];
  beforeAll(async () => {
    page = await browser.newPage();
    await keepRules(page);
    complaints = watch(page, server.url);
  });

  test.each([...PAGES, WRONG_ADDRESS])(
    '%s is accessible and fits every screen, in light and dark, runs only scripts of this project, and requests nothing from other hosts',
    async (path) => {
      complaints.length = 0;
      await page.setViewportSize({ width: 1280, height: 800 });
      await expectOwnScripts(page, await page.goto(server.url + path));
      const lengths = z.array(z.number()).parse(await page.evaluate(CHARACTERS_PER_LINE));
      expect(Math.max(0, ...lengths)).toBeLessThan(80);
      await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
      expect(await faultsOf(page)).toEqual([]);
      expect(complaints).toEqual(path === WRONG_ADDRESS ? [expect.stringContaining('404')] : []);
    },
  );
});

test('the navigation is at the side, and on a phone a fold, even without script', async () => {
  const { page } = await open('/docs/errors', { javaScriptEnabled: false });
  const navigation = page.getByRole('navigation', { name: 'All pages' });
  const recipe = navigation.getByRole('link', { name: 'n8n' });
  await recipe.waitFor();
  expect(await navigation.locator('[aria-current=page]').allTextContents()).toEqual(['Errors']);
  await page.setViewportSize({ width: 390, height: 800 });
  await recipe.waitFor({ state: 'hidden' });
  await navigation.getByText('All pages').click();
  await follow(recipe);
  expect(new URL(page.url()).pathname).toBe('/docs/recipes/n8n');
  expect(await page.locator('.tabs [aria-current]').allTextContents()).toEqual(['Recipes']);
  await page.goto(`${server.url}/docs/concepts`);
  expect(await page.locator('.tabs [aria-current]').allTextContents()).toEqual(['Start']);
  await page.emulateMedia({ media: 'print' });
  expect(await navigation.isVisible()).toBe(false);
  await page.emulateMedia({ media: 'screen' });
  await follow(page.getByRole('banner').getByRole('link', { name: 'Settings', exact: true }));
  expect(new URL(page.url()).pathname).not.toMatch(/^\/docs/);
});

test('the search finds headings, error codes and words of the text with the keyboard, even on a phone', async () => {
  const { page, complaints } = await open('/docs', { viewport: { width: 390, height: 800 } });
  await page.keyboard.press('/');
  await page.keyboard.type('rate limited');
  const result = page.getByRole('link', { name: /^rate_limited 429/ });
  await result.waitFor();
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(await overflowOf(page)).toBe(0);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.waitForURL(`${server.url}/docs/errors#rate_limited`);
  await page.keyboard.press('/');
  await page.keyboard.type('make');
  await page.getByRole('link', { name: /^Write back from Make/ }).waitFor();
  await page.keyboard.press('Escape');
  expect(await page.locator('#search li').count()).toBe(0);
  await page.keyboard.type('docker restar');
  await page.getByRole('link', { name: 'Write back from n8n', exact: true }).last().waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.type('zzzz');
  const count = page.locator('#search output');
  await page.getByRole('link', { name: /^Glossary/ }).waitFor();
  expect([await count.textContent(), (await count.boundingBox())?.height ?? 0]).toEqual([
    'Nothing found. Look here:',
    expect.toSatisfy((height: number) => height >= 16),
  ]);
  for (const [text, heading] of [
    ['duplicate', 'Retries'],
    ['who still uses old key', 'Replace or end a key'],
    ['freshservice', 'Which PSA works today'],
    ['second administrator', 'People'],
    ['request id', 'A workflow is refused'],
    ['lost write', 'A workflow is refused'],
  ] as const) {
    await page.keyboard.press('Escape');
    await page.keyboard.type(text);
    await page.locator('#search li:first-child', { hasText: heading }).waitFor();
    const found = await page.locator('#search li > a').evaluateAll((links) => links.map((link) => String(link)));
    // The changelog comes last.
    const places = found.map((link) => Number(link.includes('/docs/changelog')));
    // Each of these words is somewhere in a recipe.
    expect([text, found.filter((link) => link.includes('/docs/recipes/'))]).toEqual([text, []]);
    expect([text, places]).toEqual([text, places.toSorted()]);
    const results = found.length === 1 ? '1 result' : `${found.length} results`;
    expect([text, await count.textContent()]).toEqual([text, results]);
  }
  expect(complaints).toEqual([]);
});

test('a recipe shows a new event in each view, creates a token by its button, and puts the address into the workflow', async () => {
  const { page, complaints } = await open('/docs/recipes/n8n');
  const event = page.getByLabel('Event', { exact: true }).locator('pre');
  const [first] = await event.allTextContents();
  expect(first).toMatch(/"eventId": "evt-[0-9a-f]{8}"/);
  await page.getByRole('button', { name: 'Create a random token' }).click();
  expect(await page.getByLabel('Token of the webhook').locator('pre').textContent()).toMatch(/^[0-9a-f]{64}$/);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download n8n.json' }).click(),
  ]);
  const workflow = await text(await download.createReadStream());
  expect(workflow).toContain(`"${server.url}/api/v1/ping"`);
  expect(workflow).not.toContain('tickets.example');
  await page.reload();
  expect(await event.allTextContents()).not.toEqual([first]);
  expect(complaints).toEqual([]);
});

test('the definition of the Power Automate connector contains the address when it is downloaded', async () => {
  const { page } = await open('/docs/recipes/power-automate');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download apiDefinition.swagger.json' }).click(),
  ]);
  const definition = await text(await download.createReadStream());
  expect(definition).toContain(`"host": "${new URL(server.url).host}"`);
  expect(definition).not.toContain('tickets.example');
});

test('addresses show the origin of the service, and without script a placeholder', async () => {
  const { host } = new URL(server.url);
  const texts = async (path: string, options?: BrowserContextOptions) =>
    (await (await open(path, options)).page.locator('article').textContent()) ?? '';
  const curl = await texts('/docs/recipes/curl');
  expect(curl).toContain(`export TICKETS_URL='http://${host}'`);
  expect(await texts('/docs/recipes/curl', { javaScriptEnabled: false })).toBe(
    curl.replaceAll(`http://${host}`, 'https://YOUR-SERVICE'),
  );
  expect(await texts('/docs/recipes/zapier')).toContain('Domain filterlocalhost');
});

/** The values of an attribute in a page. */
const attributesIn = (html: string, name: string) =>
  Array.from(html.matchAll(new RegExp(` ${name}="([^"]*)"`, 'g')), ([, value = '']) => value.replaceAll('&amp;', '&'));

test('every link of the documentation leads to an existing page and place', async () => {
  const pages = new Map<string, string>();
  for (const path of PAGES) pages.set(path, await (await fetch(server.url + path)).text());
  const links = new Map<string, string>();
  for (const [path, html] of pages)
    for (const href of attributesIn(html, 'href')) links.set(new URL(href, server.url + path).href, path);
  const broken: string[] = [];
  for (const [href, from] of links) {
    const { origin, pathname, hash } = new URL(href);
    if (origin !== server.url) continue;
    const html = pages.get(pathname);
    if (html !== undefined && hash !== '' && !attributesIn(html, 'id').includes(hash.slice(1)))
      broken.push(`${from}: ${href}`);
    if (html === undefined && (await fetch(href)).status >= 400) broken.push(`${from}: ${href}`);
  }
  expect(links.size).toBeGreaterThan(100);
  expect(broken).toEqual([]);
});

test('every script of the settings area is a file of this project, and no other may run', async () => {
  const { page } = await open('/settings');
  await follow(page.getByRole('button', { name: 'Ada Administrator' }));
  for (const name of ['keys', 'new-key', 'audit', 'refused', 'key-rules', 'which-key', 'revoke-all', 'nothing'])
    await expectOwnScripts(page, await page.goto(`${server.url}/settings/northwind/${name}`));
});

test('an example in several languages has tabs even without script, and a choice applies to all examples with script', async () => {
  const { page: withoutScript } = await open('/docs', { javaScriptEnabled: false });
  const first = withoutScript.getByRole('group', { name: 'First note: the language' });
  await first.getByText('PowerShell', { exact: true }).click();
  await first.getByText('Invoke-RestMethod').waitFor();
  await withoutScript.keyboard.press('ArrowLeft');
  await first.getByText('curl "').waitFor();
  const { page } = await open('/docs');
  await page.getByRole('article').getByText('PowerShell', { exact: true }).first().click();
  await page.locator('[aria-label="First note, PowerShell"]').waitFor();
});

describe('the reference', () => {
  test('has an address for each operation, and folds that open without script', async () => {
    const { page } = await open('/docs/reference', {
      javaScriptEnabled: false,
      viewport: { width: 390, height: 800 },
      colorScheme: 'dark',
    });
    await follow(page.getByRole('article').getByRole('link', { name: 'Log time on a ticket', exact: true }).first());
    expect((await page.locator('#createTimeEntry').boundingBox())?.y).toBeLessThan(100);
    const fields = page.locator('#createTimeEntry ~ details').first();
    await fields.getByText('Fields of the response').click();
    await fields.getByText('agreementSource').waitFor();
  });

  test('sends a ping with a key that is typed, and keeps it nowhere', async () => {
    const { page, complaints } = await open('/docs/reference');
    const key = page.getByLabel('Try it with a key');
    const result = page.locator('#try-ping output');
    await key.fill(server.key);
    await page.getByRole('button', { name: 'Send ping' }).click();
    await result.filter({ hasText: '"keyName": "Local demo"' }).waitFor();
    expect(await result.textContent()).toMatch(/^200\n/);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(complaints).toEqual([]);

    expect(await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]')).toEqual([0, 0, '']);
    expect(page.url()).not.toContain(server.key);
    await follow(page.getByRole('link', { name: 'Errors', exact: true }).first());
    await page.goBack();
    expect(await key.inputValue()).toBe('');

    await key.fill('not a key');
    await page.keyboard.press('Enter');
    await result.filter({ hasText: 'Enter a key' }).waitFor();
    await key.fill('twb_unknown');
    await page.keyboard.press('Enter');
    await result.filter({ hasText: /^401\n/ }).waitFor();
  });

  test('copies an example with its button', async () => {
    const { page } = await open('/docs/reference', { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.getByRole('button', { name: 'Copy: Request: ping' }).click();
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toContain('/api/v1/ping');
  });

  test('its requests run as copied', async () => {
    const { page } = await open('/docs/reference');
    const results: string[] = [];
    for (const request of ['ping', 'a note', 'a time entry', 'a dry run']) {
      const code = await page.locator(`[aria-label="Request: ${request}"] pre`).textContent();
      const { stdout } = await promisify(execFile)('bash', ['-c', code ?? ''], {
        env: { ...process.env, TICKETS_API_KEY: server.key },
      });
      results.push(stdout);
    }
    expect(results).toEqual([
      expect.stringContaining('Local demo'),
      expect.stringMatching(/note\W+id/),
      expect.stringMatching(/entry\W+id/),
      expect.stringMatching(/dryRun\W+true.*workDate/s),
    ]);
  });
});
