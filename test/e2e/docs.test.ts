import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RECIPES } from '../../src/http/docs/recipes.ts';
import { accessibilityViolations, watch } from '../support/browser.ts';
import { connectBrowser, sharedServer } from '../support/shared.ts';

let server: Awaited<ReturnType<typeof sharedServer>>;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([sharedServer(), connectBrowser()]);
});

afterAll(() => browser.close());

test('the reference page sends a ping with a key, requests nothing from other hosts, and is accessible', async () => {
  const page = await browser.newPage();
  const complaints = watch(page, server.url);
  await page.goto(`${server.url}/docs`);
  await page.getByRole('button', { name: 'Authorize' }).first().click();
  expect(await accessibilityViolations(page)).toEqual([]);
  await page.locator('.auth-container input').fill(server.key);
  await page.locator('.auth-btn-wrapper .authorize').click();
  await page.locator('.auth-btn-wrapper .btn-done').click();

  const operations = await page.locator('.opblock-summary-control').all();
  const tryItOut = page.getByRole('button', { name: 'Try it out' });
  for (const operation of operations) {
    await operation.click();
    await tryItOut.click();
    await tryItOut.waitFor({ state: 'detached' });
  }
  await page.getByRole('button', { name: 'Execute' }).first().click();
  const answer = page.locator('.live-responses-table').first();
  await answer.waitFor();
  expect(await answer.textContent()).toContain('"keyName": "Local demo"');
  expect(complaints).toEqual([]);
  expect(await accessibilityViolations(page)).toEqual([]);
  await page.close();
});

/** Whether the page or one of its tables is wider than its place; code examples may be. */
const SCROLLS_SIDEWAYS =
  "[...document.querySelectorAll('html, .table')].some(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)";

test.each([
  '/',
  '/docs/problems',
  '/docs/recipes',
  '/docs/agents',
  '/docs/psa',
  '/docs/keys',
  ...RECIPES.map(({ slug }) => `/docs/recipes/${slug}`),
])('%s is accessible, fits a phone, has no script, and requests nothing from other hosts', async (path) => {
  const page = await browser.newPage();
  const complaints = watch(page, server.url);
  const response = await page.goto(server.url + path);
  expect(response?.status()).toBe(200);
  expect(await response?.headerValue('Content-Security-Policy')).toMatch(
    /^default-src 'none'; style-src 'self'; img-src 'self';/,
  );
  expect(complaints).toEqual([]);
  expect(await accessibilityViolations(page)).toEqual([]);

  await page.setViewportSize({ width: 390, height: 800 });
  expect(await accessibilityViolations(page)).toEqual([]);
  expect(await page.evaluate(SCROLLS_SIDEWAYS)).toBe(false);
  await page.close();
});
