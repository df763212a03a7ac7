import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { accessibilityViolations, follow, openOthers, overflowOf, watch } from '../support/browser.ts';
import { faultsOf } from '../support/page-faults.ts';
import { connectBrowser, sharedServer } from '../support/shared.ts';

const ORGANIZATION = 'approving';
const EMAIL = 'max@approving.example';

let server: Awaited<ReturnType<typeof sharedServer>>;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([sharedServer(), connectBrowser()]);
});
afterAll(() => browser?.close());

/** Logs time, once for each Idempotency-Key. */
async function log(event: string, changes: object = {}) {
  const response = await fetch(`${server.url}/api/v1/tickets/1001/time-entries`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${server.keys.approving}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': event,
    },
    body: JSON.stringify({ minutes: 30, description: `Work ${event}`, billable: true, ...changes }),
  });
  return response.json();
}

/** Signs in, and opens the page of the time. */
async function open(options?: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(`${server.url}/settings`);
  await openOthers(page);
  await follow(page.locator('form', { hasText: EMAIL }).getByRole('button'));
  await page.goto(`${server.url}/settings/${ORGANIZATION}/time`);
  return page;
}

/** Moves the focus with the Tab key until an element has it. */
async function tabTo(page: Page, name: string, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  for (let stops = 0; stops < 60; stops++) {
    await page.keyboard.press(key);
    const focused = await page.evaluate(
      `document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent`,
    );
    if (String(focused).includes(name)) return;
  }
  throw new Error(`the Tab key does not reach “${name}”`);
}

test('a key logs time, an administrator approves it by keyboard, and a replay and the audit log have the decision', async () => {
  await log('first');
  await log('second', { minutes: 540, userEmail: 'tess@approving.example' });
  const page = await open();
  const complaints = watch(page, server.url);
  const faults = await faultsOf(page);
  expect(
    await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Time' }).textContent(),
  ).toMatch(/Time\s2/);
  const selected = page.locator('.decide output');
  const usable = () => page.locator('.decide button:enabled').allTextContents();
  await page.getByRole('link', { name: 'Select all' }).click();
  expect(await selected.textContent()).toBe('2\u00a0selected, 570\u00a0min, 950.00');
  expect(await usable()).toEqual(['Approve selected', 'Reject selected']);
  await page.getByRole('link', { name: 'Select none' }).click();
  expect(await selected.textContent()).toBe('Nothing selected');
  expect(await usable()).toEqual(['Approve 1 unmarked…']);
  await page.getByRole('link', { name: 'Select marked (1)' }).click();
  expect(await selected.textContent()).toBe('1\u00a0selected, 540\u00a0min, 900.00');
  faults.push(...(await faultsOf(page)));
  await page.getByRole('link', { name: 'Select none' }).click();
  expect(await selected.textContent()).toBe('Nothing selected');
  await page.getByRole('link', { name: 'Select marked (1)' }).click();
  await page.getByLabel('Select 540 min by Tess').uncheck();
  expect(await selected.textContent()).toBe('Nothing selected');
  await page.getByRole('link', { name: 'Select marked (1)' }).waitFor();
  await page.locator('h1').click();
  await tabTo(page, 'Select 540 min by Tess on ticket 1001');
  await page.keyboard.press('Space');
  expect(await selected.textContent()).toBe('1\u00a0selected, 540\u00a0min, 900.00');
  await tabTo(page, 'Approve selected', 'Shift+Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Approve 1 entry?' }).waitFor();
  expect(await page.locator('main').textContent()).toContain('This is final');
  faults.push(...(await faultsOf(page)));
  await tabTo(page, 'Approve 1 entry');
  await page.keyboard.press('Enter');
  await page.getByRole('status').filter({ hasText: '1 entry approved' }).waitFor();
  expect(await log('second', { minutes: 540, userEmail: 'tess@approving.example' })).toMatchObject({
    entry: { status: 'APPROVED' },
    idempotentReplay: true,
  });
  expect(await log('first')).toMatchObject({ entry: { status: 'SUBMITTED' }, idempotentReplay: true });

  await follow(page.getByRole('link', { name: 'Approved' }));
  faults.push(...(await faultsOf(page)));
  const downloading = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download as CSV', exact: true }).click();
  expect((await downloading).suggestedFilename()).toMatch(/^approving-time-approved-/);
  await page.locator('summary', { hasText: 'Filters' }).click();
  faults.push(...(await faultsOf(page)));
  await page.goto(`${server.url}/settings/${ORGANIZATION}/audit?action=time_entry.approved`);
  expect(await page.locator('.log li').allTextContents()).toEqual([expect.stringContaining('Max Manykeys')]);
  expect([...complaints, ...faults]).toEqual([]);
});

test('without script, all that a filter shows is rejected with a reason', async () => {
  await log('third', { billable: false });
  const page = await open({ javaScriptEnabled: false });
  await page.locator('summary', { hasText: 'Filters' }).click();
  await page.getByLabel('Company').selectOption('Acme');
  await follow(page.getByRole('button', { name: 'Show' }));
  await follow(page.getByRole('link', { name: 'Select all' }));
  await follow(page.getByRole('button', { name: 'Reject selected' }));
  await page.getByLabel('Reason for the rejection').fill('Logged twice');
  await follow(page.getByRole('button', { name: /^Reject \d/ }));
  await page.getByText(/^\d entr(y|ies) rejected: \d+ minutes/).waitFor();
  expect(await page.locator('tbody tr').count()).toBe(0);
  await follow(page.getByRole('link', { name: 'Rejected' }));
  expect(await page.locator('tbody tr').first().textContent()).toContain('Logged twice');
});

test('Shift selects a range, and the way back from the confirmation leads to the selection', async () => {
  for (let one = 0; one < 4; one++) await log(`range-${one}`, { minutes: 11 + one });
  const page = await open();
  const checked = () => page.locator('[name=entry]:checked').evaluateAll((boxes) => boxes.length);
  await page.getByLabel('Select 14 min').click();
  await page.getByLabel('Select 12 min').click({ modifiers: ['Shift'] });
  expect(await checked()).toBe(3);
  await follow(page.getByRole('button', { name: 'Approve selected' }));
  await page.goBack();
  await page.locator('.decide output', { hasText: /^3\sselected/ }).waitFor();
  expect(await checked()).toBe(3);
  await follow(page.getByRole('button', { name: 'Approve selected' }));
  await follow(page.getByRole('link', { name: 'Cancel' }));
  expect(await checked()).toBe(3);
});

test('a row is low on a desktop, and on a phone its date and minutes are a large target that selects it', async () => {
  await log('fourth', { minutes: 25, description: `A text of more than one line. ${'It goes on. '.repeat(20)}` });
  await log('fifth', { minutes: 20 });
  const desktop = await open({ viewport: { width: 1280, height: 800 } });
  // Decided entries of the tests before are there, one of them with a reason.
  for (const state of ['waiting', 'approved', 'rejected', 'all']) {
    const response = await desktop.goto(`${server.url}/settings/${ORGANIZATION}/time?state=${state}`);
    expect([state, response?.status()]).toEqual([state, 200]);
    const heights = await desktop
      .locator('.time tbody tr')
      .evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().height));
    expect([state, heights.length > 0, Math.max(...heights) < 47]).toEqual([state, true, true]);
    expect(await accessibilityViolations(desktop, ['target-size'])).toEqual([]);
  }
  // The reason of a rejection takes the line below the administrator and the time.
  await desktop.goto(`${server.url}/settings/${ORGANIZATION}/time?state=rejected`);
  const reason = desktop.locator('.time td:nth-child(4) .minor').first();
  expect(await reason.evaluate((text) => [text.textContent, text.scrollWidth <= text.clientWidth])).toEqual([
    'Logged twice',
    true,
  ]);
  const phone = await open({ viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true });
  await phone.goto(`${server.url}/settings/${ORGANIZATION}/time?state=all`);
  expect(await accessibilityViolations(phone, ['target-size'])).toEqual([]);
  const decide = await phone.getByRole('link', { name: 'Decide' }).first().boundingBox();
  expect(decide?.height).toBeGreaterThanOrEqual(24);
  // The state and the link are on one line of their own, below the technician.
  const [technician, state] = await Promise.all(
    ['td:nth-child(3) bdi', '.submitted'].map((part) =>
      phone.locator(`.time tr:has(.submitted) ${part}`).first().boundingBox(),
    ),
  );
  expect(state?.y).toBeGreaterThanOrEqual((technician?.y ?? Infinity) + (technician?.height ?? 0));
  expect(state?.height).toBeLessThan(30);
  await phone.goto(`${server.url}/settings/${ORGANIZATION}/time`);
  expect((await phone.locator('.time tbody tr').first().boundingBox())?.y).toBeLessThanOrEqual(330);
  // A text of more than one line is cut off.
  expect(await overflowOf(phone)).toBe(0);
  const label = phone.locator('.time th label', { hasText: '20 min' });
  expect((await label.boundingBox())?.height).toBeGreaterThanOrEqual(44);
  // The technician is below the date, in the target.
  const row = phone.locator('.time tbody tr', { hasText: '20 min' });
  expect((await row.boundingBox())?.height).toBeLessThan(96);
  await label.tap({ position: { x: 170, y: 40 } });
  expect(await phone.getByLabel('Select 20 min').isChecked()).toBe(true);
});

test('on paper, a list has its headings and whole texts, and nothing that only a screen can do', async () => {
  await log('printed', { description: `A text of more than one line. ${'It goes on. '.repeat(20)}The end.` });
  const page = await open({ viewport: { width: 718, height: 1000 } });
  await page.emulateMedia({ media: 'print' });
  expect(await page.locator('.time thead').isVisible()).toBe(true);
  // A card would have all parts one below the other.
  const [date, work] = await Promise.all(
    ['th', 'td:nth-child(2)'].map((part) => page.locator(`.time tbody ${part}`).first().boundingBox()),
  );
  expect(work?.x).toBeGreaterThan((date?.x ?? Infinity) + (date?.width ?? 0) - 1);
  for (const part of ['.decide', '.time input', '.button'])
    expect(await page.locator(part).first().isVisible()).toBe(false);
  const cut = page
    .locator('.long .text')
    .evaluateAll((texts) =>
      texts.map((text) => text.scrollWidth > text.clientWidth || text.getBoundingClientRect().height < 30),
    );
  expect(new Set(await cut)).toEqual(new Set([false]));
});

test('on a phone, the bar in view is low, and selected rows are seen', async () => {
  for (const [index, minutes] of [5, 600, 7].entries()) await log(`bar-${index}`, { minutes });
  const page = await open({ viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true });
  const bar = page.locator('.decide');
  const height = async () => (await bar.boundingBox())?.height;
  const background = () =>
    page.evaluate(`getComputedStyle(document.querySelector('tbody tr:has([data-marked])')).backgroundColor`);
  const before = await background();
  const shown = async () => (await bar.locator('a:visible, button:visible').allTextContents()).join();
  expect(await shown()).toMatch(/^Select all,Select marked \(\d+\),Approve \d+ unmarked…$/);
  expect(await height()).toBeLessThanOrEqual(64);
  for (const [link, words] of [
    ['Select marked', 'Select none,Approve selected,Reject selected'],
    ['Select all', 'Select none,Approve selected,Reject selected'],
  ] as const) {
    await page.getByRole('link', { name: link }).tap();
    expect([await shown(), await height()]).toEqual([words, expect.toSatisfy((high) => high <= 64)]);
    expect(await background()).not.toBe(before);
    expect(await bar.locator('output').innerText()).toMatch(/^\d+\sselected, [\d,]+\smin$/);
    await page.getByRole('link', { name: 'Select none' }).tap();
    expect(await background()).toBe(before);
  }
});

test('the list does not move when entries are selected', async () => {
  const page = await open();
  for (const width of [961, 1024, 1100, 1201, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(`${server.url}/settings/${ORGANIZATION}/time`);
    const top = async () => (await page.locator('.time').boundingBox())?.y;
    const before = await top();
    await page.locator('[name=entry]').first().check();
    expect([width, await top()]).toEqual([width, before]);
    await page.getByRole('link', { name: 'Select all' }).click();
    expect([width, await top()]).toEqual([width, before]);
    // A page that is opened again keeps its selection.
    await page.getByRole('link', { name: 'Select none' }).click();
  }
});

test('the name of a company is cut off only when the name of a long key is short already', async () => {
  const page = await open();
  await page.goto(`${server.url}/settings/${ORGANIZATION}/time?state=all`);
  for (const width of [1000, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    const line = page.locator('.time .line').first();
    const last = line.locator('> :last-child');
    /** Whether the names of a company and a key are whole, and how wide they are. */
    const shown = async (company: string, key: string) => {
      const names = line.locator('bdi');
      for (const [at, name] of [company, key].entries())
        await names.nth(at).evaluate((element, text) => {
          element.textContent = text;
        }, name);
      await last.evaluate((element, isLong) => element.classList.toggle('cut', isLong), key.length > 20);
      return Promise.all(
        [names.first(), last].map((part) =>
          part.evaluate(({ scrollWidth, clientWidth }) => [scrollWidth <= clientWidth, clientWidth]),
        ),
      );
    };
    const long = 'Nightly patch report to all tickets of managed servers (test)';
    expect(await shown('Litware GmbH', long)).toEqual([
      [true, expect.anything()],
      [false, expect.toSatisfy((wide) => wide >= 144)],
    ]);
    expect(await shown('Contoso Pharmaceuticals International Holdings (Deutschland)', long)).toEqual([
      [false, expect.toSatisfy((wide) => wide >= 100)],
      [false, 144],
    ]);
    expect(await shown('Contoso Pharmaceuticals International Holdings (Deutschland)', 'Nightly')).toEqual([
      [false, expect.toSatisfy((wide) => wide >= 140)],
      [true, expect.anything()],
    ]);
  }
});
