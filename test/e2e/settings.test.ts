import { readFile } from 'node:fs/promises';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { accessibilityViolations, follow, keepRules, openOthers, overflowOf, watch } from '../support/browser.ts';
import { LARGE, RARE_TICKET } from '../support/many-keys.ts';
import { faultsOf } from '../support/page-faults.ts';
import { inLongRuns } from '../support/property.ts';
import { connectBrowser, sharedServer } from '../support/shared.ts';

let server: Awaited<ReturnType<typeof sharedServer>>;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([sharedServer(), connectBrowser()]);
});
afterAll(() => browser?.close());

/**
 * A browser context of its own, signed in as Ada of Northwind or another administrator, and the
 * list of its complaints.
 */
async function signIn(
  options: BrowserContextOptions = {},
  hands = mouse,
  person = 'Ada Administrator',
  organization?: string,
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints = watch(page, server.url);
  await page.goto(`${server.url}/settings`);
  await openOthers(page);
  await hands.press(page.locator('form', { hasText: person }).getByRole('button'));
  if (organization !== undefined) {
    await heading(page, 'Organizations').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await hands.press(page.getByRole('link', { name: organization }));
  }
  await navigation(page, 'keys').waitFor();
  return { page, complaints };
}

interface Hands {
  press(target: Locator): Promise<void>;
  type(target: Locator, text: string): Promise<void>;
}

const mouse: Hands = {
  press: (target) => target.click(),
  type: (target, text) => target.fill(text),
};

/** Moves the focus to an element with the Tab key. */
async function tabTo(target: Locator): Promise<void> {
  const page = target.page();
  await target.waitFor();
  for (let presses = 0; presses < 60; presses++) {
    if ((await target.and(page.locator(':focus')).count()) === 1) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`the keyboard does not reach ${target}`);
}

const keyboard: Hands = {
  async press(target) {
    await target.waitFor();
    const { keyboard: keys } = target.page();
    if ((await target.getAttribute('type')) === 'radio') {
      // Tab reaches the checked button of a group, and the arrow keys move on from there.
      await tabTo(target.page().locator(`[name=${await target.getAttribute('name')}]:checked`));
      while (!(await target.isChecked())) await keys.press('ArrowDown');
      return;
    }
    await tabTo(target);
    await keys.press((await target.getAttribute('type')) === 'checkbox' ? 'Space' : 'Enter');
  },
  async type(target, text) {
    await tabTo(target);
    await target.page().keyboard.type(text);
  },
};

// Elements are found by address, name or role, because the texts of pages may change.

/** A link of the navigation to one of its pages. */
const navigation = (page: Page, name: string) => page.locator(`header > nav a[href$="/${name}"]`);
/** The button that leads to another page of the settings area. */
const leadTo = (page: Page, path: string) => page.locator(`form[method=get][action$="${path}"] button`);
/** The button that sends the form; not the one that searches in it, nor the hidden one that Enter presses. */
const submit = (page: Page) => page.locator('main form[method=post] button[type=submit]:not([hidden], [name=search])');
const field = (page: Page, name: string, value?: string) =>
  page.locator(`[name=${name}]${value === undefined ? '' : `[value="${value}"]`}`);
const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true });
const banner = (page: Page) => page.getByRole('status').filter({ hasText: /./ });
/** The banner that says what was done, or that a key is shown once: it has the focus. */
const focusedNotice = (page: Page) => page.locator('#notice:focus');
/** The form that the local sign-in consists of. */
const signInForm = (page: Page) => page.locator('form[method=post][action^="/dev/sign-in"]').first();

const shownKey = async (page: Page) => (await page.locator('#key').textContent()) ?? '';
/** The button that leads from a new key to its page. */
const stored = (page: Page) => page.getByRole('button', { name: 'I have stored the key' });
const hintOf = (key: string) => `${key.slice(0, 8)}…${key.slice(40, 44)}`;

const call = (path: string, key: string, init: RequestInit = {}) =>
  fetch(`${server.url}/api/v1${path}`, {
    ...init,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
  });
const ping = async (key: string) => (await call('/ping', key)).status;
/** Longer than a line. */
const LONG_TEXT =
  'Restarted the backup agent on SRV-DB2 and removed 40 GB of temporary files. The last job finished at 16:19.';
const note = async (key: string) =>
  (await call('/tickets/1001/notes', key, { method: 'POST', body: JSON.stringify({ message: LONG_TEXT }) })).status;

/** Creates, uses, rotates and revokes a key, in the browser and over HTTP. */
async function liveThrough(page: Page, hands: Hands, name: string, scripted: boolean): Promise<void> {
  await hands.press(leadTo(page, '/new-key'));
  await hands.type(field(page, 'name'), name);
  await hands.press(field(page, 'scopes', 'tickets:time:write'));
  await hands.press(field(page, 'scopes', 'tickets:note:write'));
  await hands.press(field(page, 'expires', '30'));
  await hands.press(submit(page));

  await focusedNotice(page).waitFor();
  const first = await shownKey(page);
  expect(await note(first)).toBe(201);
  if (scripted) {
    const result = page.locator('#result');
    await hands.press(page.locator('[data-copy=key]'));
    await page.locator('.secret output').filter({ hasText: /./ }).first().waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(first);
    await hands.press(page.locator('[data-test]'));
    await result.filter({ hasText: name }).filter({ hasText: 'Northwind MSP' }).waitFor();
  }

  await hands.press(stored(page));
  await heading(page, name).waitFor();
  await hands.press(navigation(page, 'audit'));
  const entry = page.locator('.log li').filter({ hasText: name }).filter({ hasText: '1001' });
  await hands.press(entry.locator('summary'));
  expect(await page.content()).not.toContain(first);

  await hands.press(entry.getByRole('link', { name }));
  await heading(page, name).waitFor();
  expect(await page.content()).not.toContain(first);
  await hands.press(leadTo(page, '/rotate'));
  await hands.press(field(page, 'grace', '1h'));
  await hands.press(submit(page));
  await focusedNotice(page).waitFor();
  const second = await shownKey(page);
  expect([await note(first), await note(second)]).toEqual([201, 201]);

  // From the page of the successor to the page of its predecessor, which is revoked.
  await hands.press(stored(page));
  await hands.press(page.getByRole('definition').getByRole('link', { name: hintOf(first) }));
  await hands.press(page.getByRole('button', { name: 'Revoke the old key now' }));
  await hands.press(submit(page));
  await focusedNotice(page).waitFor();
  expect([await ping(first), await ping(second)]).toEqual([401, 200]);

  await hands.press(navigation(page, 'keys'));
  await hands.press(page.getByRole('table').first().getByRole('link', { name }));
  await hands.press(leadTo(page, '/revoke'));
  await page.getByRole('heading', { name }).waitFor();
  await hands.press(submit(page));
  await focusedNotice(page).waitFor();
  expect(await ping(second)).toBe(401);

  await hands.press(navigation(page, 'refused'));
  // The log of the latest requests is a table below.
  const row = page
    .getByRole('table')
    .first()
    .getByRole('row')
    .filter({ hasText: name })
    .filter({ hasText: hintOf(second) });
  await heading(page, 'Refused requests').waitFor();
  // A refused request is recorded after the response to it, so the page may be earlier.
  const reloadedRows = async () => {
    await page.reload();
    return row.count();
  };
  await expect.poll(reloadedRows, { timeout: 15_000, interval: 300 }).toBe(1);
}

// With script and a mouse, the next tests do most of it. Without script, a browser sends the forms that the tests in
// test/http/settings send.
test.each(
  [
    ['with the keyboard alone', keyboard, true] as const,
    ['with a mouse', mouse, true] as const,
    ['without script', mouse, false] as const,
  ].slice(0, inLongRuns(3, 1)),
)('a key is created, used, rotated and revoked, and its refusal is shown, %s', async (how, hands, scripted) => {
  const scripts: BrowserContextOptions = scripted
    ? { permissions: ['clipboard-read', 'clipboard-write'] }
    : { javaScriptEnabled: false };
  const { page, complaints } = await signIn(scripts, hands);
  await liveThrough(page, hands, `Lived ${how}`, scripted);
  expect(complaints).toEqual([]);
});

/** Opens the form for a new key and fills it in. */
async function fillNewKey(page: Page, organization: string, name: string): Promise<void> {
  await page.goto(`${server.url}/settings/${organization}/new-key`);
  await field(page, 'name').fill(name);
  await field(page, 'scopes', 'tickets:note:write').check();
}

test('a double click creates one key, and sending the form again after that leads to it', async () => {
  const { page } = await signIn();
  await fillNewKey(page, 'northwind', 'Clicked twice');
  await submit(page).dblclick();
  await page.locator('#key').waitFor();
  await page.reload();
  await banner(page).getByText('no second one was created').waitFor();
  expect(await page.locator('#key').count()).toBe(0);
  await page.goto(`${server.url}/settings/northwind/keys`);
  const made = page.getByRole('link', { name: 'Clicked twice' });
  await made.first().waitFor();
  expect(await made.count()).toBe(1);
});

test('what is typed replaces the limit that a link leads to', async () => {
  const { page } = await signIn();
  await fillNewKey(page, 'northwind', 'Limited');
  await page.locator('.advanced summary').click();
  await field(page, 'dayLimitMinutes').fill('60');
  await submit(page).click();
  await page.locator('#key').waitFor();
  await page.goto(`${server.url}/settings/northwind/keys?q=Limited`);
  await page.getByRole('link', { name: 'Limited' }).click();
  await page.waitForURL('**/keys/*');
  await page.goto(`${page.url().split('?')[0]}/change#dayLimitMinutes`);
  await page.keyboard.type('500');
  expect(await field(page, 'dayLimitMinutes').inputValue()).toBe('500');
});

test("a new key stays in view until it is copied, and a form's draft until it is accepted", async () => {
  const { page } = await signIn({ permissions: ['clipboard-read', 'clipboard-write'] });
  const context = page.context();
  const dialogs: string[] = [];
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.type());
    return dialogs.length === 1 ? dialog.dismiss() : dialog.accept();
  });
  const typed = () => field(page, 'name').inputValue();
  const open = (path: string) => page.goto(`${server.url}/settings/${path}`);

  // Kept on another page, with Back, and after the session has ended.
  await fillNewKey(page, 'northwind', 'Kept');
  await navigation(page, 'key-rules').click();
  await field(page, 'maxLifetimeDays').waitFor();
  await page.goBack();
  await page.locator('.restored').waitFor();
  expect(await typed()).toBe('Kept');
  await context.clearCookies();
  await submit(page).click();
  await page.getByRole('button', { name: 'Ada Administrator' }).click();
  await navigation(page, 'keys').waitFor();
  await open('northwind/new-key');
  expect([await typed(), await field(page, 'scopes', 'tickets:note:write').isChecked()]).toEqual(['Kept', true]);
  // An error keeps it, and an accepted form ends it.
  await field(page, 'allowedNetworks').evaluate((list) => Object.assign(list, { value: '1.2.3' }));
  await submit(page).click();
  await page.locator('#errors:focus').waitFor();
  expect([await page.title(), await typed()]).toEqual(['Error: The key was not created · Northwind MSP', 'Kept']);
  await page.locator('#errors a').click();
  await field(page, 'allowedNetworks').and(page.locator(':focus')).fill('');
  await submit(page).click();
  await page.locator('#key').waitFor();

  // Every link leaves the key where it is.
  for (const link of [navigation(page, 'audit'), page.locator('main a:visible').first()]) {
    const [other] = await Promise.all([context.waitForEvent('page'), link.click()]);
    await other.close();
  }
  const [name] = await page
    .locator('main a')
    .first()
    .ariaSnapshot()
    .then((text) => text.split('\n'));
  expect(name).toContain('(new tab)');
  const key = await shownKey(page);
  await page.goto(`${server.url}/settings/northwind/keys`).catch(() => undefined);
  expect([dialogs, await shownKey(page)]).toEqual([['beforeunload'], key]);
  await page.locator('[data-copy=key]').click();
  await open('northwind/new-key');
  expect([dialogs.length, await typed()]).toEqual([1, '']);

  // A draft belongs to one organization, and ends at the sign-out.
  await field(page, 'name').fill('Until the sign-out');
  await page.reload();
  expect(await typed()).toBe('Until the sign-out');
  await follow(page.getByRole('button', { name: 'Discard' }));
  expect(await typed()).toBe('');
  await field(page, 'name').fill('Until the sign-out');
  await page.locator('header .user > summary').click();
  await page.locator('header').getByRole('link', { name: 'Sign out' }).click();
  await signInForm(page).waitFor();
  expect(await page.evaluate('JSON.stringify(sessionStorage)')).toBe('{}');
});

test('a log of months: a rare ticket is found immediately, pages are short, and paper shows no controls', async () => {
  const { page, complaints } = await signIn({}, mouse, LARGE.email);
  await page.goto(`${server.url}/settings/${LARGE.id}/audit`);
  expect(await page.locator('.log li').count()).toBe(50);
  for (const [width, height] of [
    [1280, 2_400],
    [390, 7_000],
    [320, 8_000],
  ] as const) {
    await page.setViewportSize({ width, height: 800 });
    expect(await overflowOf(page)).toBe(0);
    expect(await page.evaluate('document.documentElement.scrollHeight')).toBeLessThanOrEqual(height);
  }
  expect(await accessibilityViolations(page)).toEqual([]);

  // The second half is searched by a second request.
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByLabel('Ticket, record').fill(RARE_TICKET);
  await page.getByRole('button', { name: 'Search' }).click();
  await page.locator('.log li').nth(1).waitFor();
  await page.locator('.search-progress').waitFor({ state: 'detached' });
  expect([await page.locator('.log li').count(), await page.locator('[data-continue]').count()]).toEqual([2, 0]);
  expect(await page.locator('.log .ticket-id').allTextContents()).toEqual([RARE_TICKET, RARE_TICKET]);
  await page.locator('.log summary').first().focus();
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'All entries of this ticket' }).waitFor();
  // The line of an open entry does not repeat the text that is below it.
  expect(await page.locator('.log details:not([open]) .said').first().isVisible()).toBe(true);
  expect(await page.locator('.log [open] .said').first().isVisible()).toBe(false);

  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  expect(await page.locator('.on-paper').innerText()).toContain(`Large: search “${RARE_TICKET}”`);
  expect(await page.locator('header .bar, .toolbar, .state-chips').filter({ visible: true }).count()).toBe(0);
  expect(complaints).toEqual([]);
});

test('the local sign-in lists each person once, with the organizations, and the people of the demo data first', async () => {
  const html = await (await fetch(`${server.url}/dev/sign-in`)).text();
  expect(html.split('value="bea@both.example"')).toHaveLength(2);
  expect(html).toContain('<td data-label="Administers">Fabrikam IT, Northwind MSP</td>');
  // The people of the demo data are above the fold.
  const [above = '', others = ''] = html.split('<details');
  const demo = (await readFile('src/dev/demo-directory.ndjson', 'utf8'))
    .split('\n')
    .filter((line) => line.includes('"admin":true'));
  for (const line of demo) expect(above).toContain(z.object({ email: z.string() }).parse(JSON.parse(line)).email);
  expect(others).toContain(LARGE.email);
  // The first is whom the README signs in as.
  expect(/<button[^>]*>([^<]+)</.exec(above)?.[1]).toBe('Ada Administrator');
});

test('two tabs on two organizations do not mix, and signing out ends both', async () => {
  const { page: one } = await signIn({}, mouse, 'bea@both.example', 'Northwind MSP');
  const two = await one.context().newPage();
  const tabs = [
    { tab: one, organization: 'northwind', name: 'Made in northwind' },
    { tab: two, organization: 'fabrikam', name: 'Made in fabrikam' },
  ];
  for (const { tab, organization, name } of tabs) await fillNewKey(tab, organization, name);
  for (const { tab } of tabs) await submit(tab).click();
  for (const { tab, name } of tabs) {
    await stored(tab).click();
    await heading(tab, name).waitFor();
    await navigation(tab, 'keys').click();
    await tab.getByRole('table').first().waitFor();
    expect(await tab.getByRole('link', { name: 'Made in' }).allTextContents()).toEqual([name]);
  }

  await one.locator('header .user > summary').press('Enter');
  await one.locator('header').getByRole('link', { name: 'Sign out' }).click();
  await signInForm(one).waitFor();
  await navigation(two, 'audit').click();
  await signInForm(two).waitFor();
  await one.goto(`${server.url}/settings/northwind/keys`);
  await signInForm(one).waitFor();
});

/** Types a text where the focus is, and presses Enter, which opens a page. */
async function enter(page: Page, text: string): Promise<void> {
  await page.keyboard.type(text);
  const opened = page.waitForEvent('framenavigated');
  await page.keyboard.press('Enter');
  await opened;
  await page.waitForLoadState();
}

test('an expired key is replaced, and the keys of a person who left are revoked, in a few steps', async () => {
  expect(await ping(server.keys.expired)).toBe(401);
  const { page, complaints } = await signIn({}, mouse, 'Tina Tasks');
  const search = page.getByRole('searchbox', { name: 'Keys, owners, addresses' });
  const openList = () => page.goto(`${server.url}/settings/northtasks/keys`);
  const examined: string[] = [];

  await openList();
  await follow(page.getByRole('link', { name: 'expired key is still in use' }));
  await follow(page.getByRole('link', { name: 'Create its replacement' }).first());
  examined.push(...(await faultsOf(page)));
  await follow(submit(page));
  expect(await ping(await shownKey(page))).toBe(200);
  await follow(stored(page));
  await navigation(page, 'keys').click();
  await page.locator('.keys').waitFor();
  expect(await page.locator('.attention').allTextContents()).toEqual([]);

  await search.click();
  await enter(page, 'Tess');
  expect(await page.locator('.keys tbody tr').count()).toBe(5);
  const revokeButton = page.locator('.bulk button');
  expect(await revokeButton.isDisabled()).toBe(true);
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  await follow(page.getByRole('button', { name: 'Revoke 5 keys…' }));
  examined.push(...(await faultsOf(page)));
  await follow(page.getByRole('button', { name: 'Revoke 5 keys' }));
  await page.getByText('5 keys are revoked.').waitFor();

  // With the keyboard alone, selected keys of the plain list.
  await openList();
  for (const name of ['Workflow 6', 'Workflow 8'])
    await keyboard.press(page.getByRole('checkbox', { name: `Select ${name}` }));
  expect(await page.getByRole('button', { name: 'Revoke 2 keys…' }).isEnabled()).toBe(true);
  // Enter on a checkbox presses the button.
  await page.keyboard.press('Enter');
  await heading(page, 'Revoke 2 keys?').waitFor();
  await keyboard.press(page.getByRole('button', { name: 'Revoke 2 keys' }));
  await page.getByText('2 keys are revoked.').waitFor();
  expect([examined, complaints]).toEqual([[], []]);
});

/** Signs in, and collects what is wrong with the pages that it examines. */
async function startExamination() {
  const { page, complaints } = await signIn();
  await keepRules(page);
  const found: string[] = [];
  return {
    page,
    examine: async () => void found.push(...(await faultsOf(page, { onEveryScreen: true }))),
    faults: () => [...found, ...complaints.filter((one) => one.startsWith('threw'))],
  };
}

test('the pages of a key are accessible, throw nothing, and are no wider than the screen, in light and dark, from 320 to 1280 px', async () => {
  const { page, examine, faults } = await startExamination();
  await follow(leadTo(page, '/new-key'));
  await examine();
  await field(page, 'name').fill('Seen in every way');
  await follow(submit(page));
  await examine();
  await field(page, 'scopes', 'tickets:note:write').check();
  await field(page, 'expires', '30').check();
  await follow(submit(page));
  await examine();
  expect(await note(await shownKey(page))).toBe(201);
  await follow(stored(page));
  await examine();
  await follow(leadTo(page, '/change'));
  await examine();
  await page.goBack();
  await follow(leadTo(page, '/revoke'));
  await examine();
  await page.goBack();
  await follow(leadTo(page, '/rotate'));
  await examine();
  await follow(submit(page));
  await examine();
  await follow(stored(page));
  await examine();
  await page.goto(`${page.url()}/replace`);
  await examine();
  expect(faults()).toEqual([]);
});

test('all other pages are accessible, throw nothing, and are no wider than the screen, in light and dark, from 320 to 1280 px', async () => {
  const { page, examine, faults } = await startExamination();
  for (const path of [
    'keys',
    'audit',
    'audit?action=note.created&ticket=1001',
    'audit?q=nothing',
    'refused',
    'time',
    'key-rules',
    'which-key',
    'revoke-all',
    'nowhere',
  ]) {
    await page.goto(`${server.url}/settings/northwind/${path}`);
    await examine();
  }
  await page.goto(`${server.url}/dev/sign-in`);
  await examine();
  expect(faults()).toEqual([]);
});
