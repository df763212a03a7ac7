import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { follow, watch } from '../../../support/browser.ts';
import { faultsOf } from '../../../support/page-faults.ts';
import { connectBrowser, sharedServer } from '../../../support/shared.ts';

const ORGANIZATION = 'reviewed';

let server: Awaited<ReturnType<typeof sharedServer>>;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([sharedServer(), connectBrowser()]);
});
afterAll(() => browser?.close());

/** Creates a key that never expires. */
async function createKey(page: Page, name: string): Promise<void> {
  await page.goto(`${server.url}/settings/${ORGANIZATION}/new-key`);
  await page.getByLabel('Name', { exact: true }).fill(name);
  await page.getByLabel('Internal notes').check();
  await page.getByRole('radio', { name: 'Never' }).check();
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.locator('#key').waitFor();
  // Without it, the browser asks before the page is left.
  await page.getByRole('button', { name: 'I have stored the key' }).click();
  await page.waitForLoadState();
}

/** What the keyboard reaches in the review on a phone while the bar, which is in view, hides it. */
async function hiddenStops(page: Page): Promise<unknown[]> {
  await page.setViewportSize({ width: 390, height: 500 });
  await page.locator('.review [type=radio]').first().focus();
  const hidden: unknown[] = [];
  for (let stops = 0; stops < 7; stops++) {
    await page.keyboard.press('Tab');
    const [field, end, bar, barEnd] = z.tuple([z.string(), z.number(), z.number(), z.number()]).parse(
      await page.evaluate(`(() => {
        const bar = document.querySelector('.review-bar').getBoundingClientRect();
        return [document.activeElement.name, document.activeElement.getBoundingClientRect().bottom, bar.top, bar.bottom];
      })()`),
    );
    if (end > bar || barEnd > 500) hidden.push([field, end, bar, barEnd]);
  }
  return hidden;
}

/** What the bar adds to the number of decisions, and whether its text fits in one line. */
const markedIn = (page: Page) =>
  page.evaluate(`[
    getComputedStyle(document.querySelector('.marked'), '::before').content,
    document.querySelector('.review-bar > span').offsetHeight < 30 ? 'one line' : 'two lines',
  ]`);

test('key rules are set and keys are reviewed until the evidence can be downloaded', async () => {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints = watch(page, server.url);
  const faults: string[] = [];
  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const save = page.getByRole('button', { name: 'Save', exact: true });
  await page.goto(`${server.url}/settings`);
  await follow(page.locator('form', { hasText: 'max@reviewed.example' }).getByRole('button'));
  for (const name of [
    'Acronis: restore tests',
    'n8n prod: alert triage',
    'Wiederherstellungstestprotokollsammelübermittlung',
  ])
    await createKey(page, name);

  await follow(page.getByRole('link', { name: 'Key rules', exact: true }));
  await page.getByLabel('Longest lifetime').fill('90');
  await page.getByLabel('Keys are reviewed').selectOption('3');
  await follow(button('Save key rules'));
  await page.getByRole('status').waitFor();
  faults.push(...(await faultsOf(page)));
  await page.setViewportSize({ width: 320, height: 800 });
  await page.reload();
  const { x = -1, width = 0 } = (await page.locator('.tabs [aria-current]').boundingBox()) ?? {};
  expect(x >= 0 && x + width <= 320).toBe(true);
  await page.goto(`${server.url}/settings/${ORGANIZATION}/new-key`);
  const expiration = page.getByRole('group', { name: 'Expiration' });
  expect(await expiration.getByRole('radio').evaluateAll((all) => all.map(({ value }) => value))).toEqual([
    '30',
    '90',
    'date',
    'none',
  ]);
  expect(await expiration.getByRole('radio', { name: 'Never' }).isDisabled()).toBe(true);

  await follow(page.getByRole('link', { name: 'API keys', exact: true }));
  await page.locator('.overflow > summary').click();
  await follow(page.getByRole('link', { name: 'Access review' }));
  await follow(button('Start review'));
  await page.getByRole('group').first().waitFor();
  const keys = page.locator('.review > li');
  const revoke = keys.first().getByLabel('Revoke', { exact: true });
  await revoke.check();
  // Marked decisions are kept on other pages.
  await follow(page.getByRole('link', { name: 'API keys', exact: true }));
  faults.push(...(await faultsOf(page)));
  await follow(page.getByRole('link', { name: 'Access review 0 / 3' }));
  await page.locator('.restored').waitFor();
  expect(await revoke.isChecked()).toBe(true);
  await follow(save);
  await page.locator('#errors:focus').waitFor();
  await page.getByText('enter a reason of at most').waitFor();
  faults.push(...(await faultsOf(page)));
  await keys.first().getByLabel('Reason').fill('The pilot was stopped');
  await follow(save);
  faults.push(...(await faultsOf(page)));
  expect(await hiddenStops(page)).toEqual([]);
  expect(await page.locator('.review-bar').innerText()).toContain('1 of 3 decided');
  for (const key of await page.locator('.review > li:not(:has(.decided))').all())
    await key.getByLabel('Keep', { exact: true }).check();
  await page.getByLabel('Reason for all keys').fill('Asked the owners in the meeting of November');
  await follow(save);
  await page.getByText('Every key has a decision').waitFor();
  await page.reload();
  expect(await page.locator('.restored').count()).toBe(0);
  faults.push(...(await faultsOf(page)));
  // The saved decisions stay in the form. Another save does not repeat them.
  expect(await revoke.isChecked()).toBe(true);
  // A changed decision is marked as not saved, in one line of the narrowest phone.
  await page.setViewportSize({ width: 320, height: 800 });
  expect(await markedIn(page)).toEqual(['none', 'one line']);
  await keys.first().getByLabel('Keep', { exact: true }).check();
  expect(await markedIn(page)).toEqual([expect.stringContaining('not saved'), 'one line']);
  await revoke.check();
  expect(await markedIn(page)).toEqual(['none', 'one line']);
  await follow(save);
  await page.getByText('The decisions are saved.').waitFor();
  await follow(button('Finish and revoke 1 key'));
  const downloading = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download as CSV' }).click();
  expect((await downloading).suggestedFilename()).toMatch(/^reviewed-access-review-\d{4}-\d\d-\d\d\.csv$/);
  faults.push(...(await faultsOf(page)));
  // The browser reports the response to the form without a reason.
  expect(complaints).toEqual([expect.stringContaining('400 (Bad Request)')]);
  expect(faults).toEqual([]);
});
