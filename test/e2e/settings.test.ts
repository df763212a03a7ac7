import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { importDirectory } from '../../src/cli/import/import-directory.ts';
import { withLocalD1 } from '../../src/cli/local.ts';
import { inaccessible, openBrowser, watch } from '../support/browser.ts';
import { startServer } from '../support/server.ts';

let server: Awaited<ReturnType<typeof startServer>>;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([startServer('--inspector-port', '0'), openBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

/** A browser of its own, signed in as Ada of Northwind or somebody else, that collects what it complains about. */
async function signIn(
  options: BrowserContextOptions = {},
  hands = mouse,
  name = 'Ada Administrator',
  organization?: string,
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints = watch(page, server.url);
  await page.goto(`${server.url}/settings`);
  await hands.press(page.getByRole('button', { name }));
  if (organization !== undefined) {
    await heading(page, 'Choose an organization').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await hands.press(link(page, organization));
  }
  await page.getByRole('heading', { name: 'API keys' }).waitFor();
  return { page, complaints };
}

interface Hands {
  press(target: Locator): Promise<void>;
  type(target: Locator, text: string): Promise<void>;
  choose(target: Locator, option: string): Promise<void>;
}

const mouse: Hands = {
  press: (target) => target.click(),
  type: (target, text) => target.fill(text),
  choose: async (target, option) => {
    await target.selectOption({ label: option });
  },
};

/** Moves the focus with Tab until it is where it should be, as somebody without a mouse does. */
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
      // Tab reaches a group's chosen button, the arrows lead on from there.
      await tabTo(target.page().locator('[type=radio]:checked'));
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
  async choose(target, option) {
    await tabTo(target);
    await target.page().keyboard.type(option);
  },
};

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true });
const shownKey = async (page: Page) => (await page.locator('#key').textContent()) ?? '';

const call = (path: string, key: string, init: RequestInit = {}) =>
  fetch(`${server.url}/api/v1${path}`, {
    ...init,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
  });
const ping = async (key: string) => (await call('/ping', key)).status;
const note = async (key: string) =>
  (await call('/tickets/1001/notes', key, { method: 'POST', body: '{"message": "Done"}' })).status;

/** The whole life of a key, in the browser and by HTTP. */
async function liveThrough(page: Page, hands: Hands, name: string, scripted: boolean): Promise<void> {
  await hands.press(button(page, 'Create key'));
  await hands.type(page.getByLabel('Name'), name);
  await hands.press(page.getByLabel('Time entries'));
  await hands.press(page.getByLabel('Internal notes'));
  await hands.choose(page.getByLabel('Expiration'), '90 days');
  await hands.press(button(page, 'Create key'));

  await heading(page, 'Your new key').waitFor();
  const first = await shownKey(page);
  expect(await note(first)).toBe(201);
  if (scripted) {
    await hands.press(button(page, 'Copy'));
    await page.getByText('Copied', { exact: true }).waitFor();
    await hands.press(button(page, 'Test this key'));
    await page
      .getByRole('status')
      .filter({ hasText: `“${name}” of northwind` })
      .waitFor();
  }

  await hands.press(link(page, 'Audit log'));
  await heading(page, 'Audit log').waitFor();
  const entry = page.getByRole('row').filter({ hasText: name }).filter({ hasText: 'Internal note added' });
  expect(await entry.textContent()).toContain('1001');
  expect(await page.content()).not.toContain(first);

  await hands.press(entry.getByRole('link', { name }));
  await heading(page, name).waitFor();
  expect(await page.content()).not.toContain(first);
  await hands.press(button(page, 'Rotate'));
  await hands.press(page.getByLabel('For 1 hour'));
  await hands.press(button(page, 'Rotate'));
  await heading(page, 'Your new key').waitFor();
  const second = await shownKey(page);
  expect([await note(first), await note(second)]).toEqual([201, 201]);

  // From the successor’s page to its predecessor’s, which is ended.
  await hands.press(link(page, 'Done: go to the key’s page'));
  const oldHint = `${first.slice(0, 8)}…${first.slice(40, 44)}`;
  await hands.press(page.getByRole('definition').getByRole('link', { name: oldHint }));
  await hands.press(button(page, 'Revoke now'));
  await hands.press(button(page, 'Revoke'));
  await page.getByText('The key is revoked.').waitFor();
  expect([await ping(first), await ping(second)]).toEqual([401, 200]);

  await hands.press(link(page, 'API keys'));
  await hands.press(page.getByRole('table', { name: 'Keys in use' }).getByRole('link', { name }));
  await hands.press(button(page, 'Revoke'));
  await heading(page, `Revoke ${name}?`).waitFor();
  await hands.press(button(page, 'Revoke'));
  await page.getByText('The key is revoked.').waitFor();
  expect(await ping(second)).toBe(401);

  await hands.press(link(page, 'Refused uses'));
  const refused = page
    .getByRole('row')
    .filter({ hasText: name })
    .filter({ hasText: `${second.slice(0, 8)}…` });
  await refused.filter({ hasText: 'The key is revoked' }).waitFor();
}

describe('a key is created, used, rotated, revoked, and its refused use seen', () => {
  test('with a mouse', async () => {
    const { page, complaints } = await signIn({ permissions: ['clipboard-read', 'clipboard-write'] });
    await liveThrough(page, mouse, 'By mouse', true);
    expect(complaints).toEqual([]);
  });

  test('with the keyboard alone', async () => {
    const { page, complaints } = await signIn({ permissions: ['clipboard-read', 'clipboard-write'] }, keyboard);
    await liveThrough(page, keyboard, 'By keyboard', true);
    expect(complaints).toEqual([]);
  });

  test('with script switched off', async () => {
    const { page, complaints } = await signIn({ javaScriptEnabled: false });
    await liveThrough(page, mouse, 'Without script', false);
    expect(complaints).toEqual([]);
  });
});

test('a double click makes one key, and going back and sending again says so', async () => {
  const { page } = await signIn();
  await button(page, 'Create key').click();
  await page.getByLabel('Name').fill('Clicked twice');
  await page.getByLabel('Internal notes').check();
  await button(page, 'Create key').dblclick();
  await heading(page, 'Your new key').waitFor();
  await page.reload();
  await heading(page, 'This key was already created').waitFor();
  await link(page, 'API keys').click();
  const made = page.getByRole('link', { name: 'Clicked twice' });
  await made.first().waitFor();
  expect(await made.count()).toBe(1);
});

test('two tabs on two organizations do not mix, and signing out ends both', async () => {
  const bea = { type: 'user', id: 'bea', email: 'bea@both.example', admin: true };
  const records = ['northwind', 'fabrikam'].map((organization) => ({
    ...bea,
    organization,
    name: `Bea of ${organization}`,
  }));
  const directory = records.map((record) => JSON.stringify(record)).join('\n');
  expect(await withLocalD1(server.persistTo, (db) => importDirectory(db, directory))).toMatchObject({ ok: true });

  const { page: one } = await signIn({}, mouse, 'Bea of northwind', 'Northwind MSP');
  const two = await one.context().newPage();
  await one.goto(`${server.url}/settings/northwind/new-key`);
  await two.goto(`${server.url}/settings/fabrikam/new-key`);
  const tabs = [
    [one, 'Made in northwind'],
    [two, 'Made in fabrikam'],
  ] as const;
  for (const [tab, name] of tabs) {
    await tab.getByLabel('Name').fill(name);
    await tab.getByLabel('Internal notes').check();
  }
  for (const [tab] of tabs) await button(tab, 'Create key').click();
  for (const [tab, name] of tabs) {
    await link(tab, 'Done: go to the key’s page').click();
    await heading(tab, name).waitFor();
    await link(tab, 'API keys').click();
    await heading(tab, 'API keys').waitFor();
    expect(await tab.getByRole('link', { name: 'Made in' }).allTextContents()).toEqual([name]);
  }

  await link(one, 'Sign out').click();
  await heading(one, 'Local sign-in').waitFor();
  await link(two, 'Audit log').click();
  await heading(two, 'Local sign-in').waitFor();
  await one.goto(`${server.url}/settings/northwind/keys`);
  await heading(one, 'Local sign-in').waitFor();
});

describe.each([
  ['light', 1280],
  ['dark', 1280],
  ['light', 360],
  ['dark', 360],
] as const)('in %s at a width of %d', (colorScheme, width) => {
  test('axe finds nothing wrong with any page, and no page is wider than the screen', async () => {
    const { page } = await signIn({ colorScheme, viewport: { width, height: 800 } });
    const found: Record<string, unknown> = {};
    const examine = async (name: string) => {
      found[name] = await inaccessible(page);
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      if (overflow !== 0) found[name] = `is ${overflow} px too wide`;
    };
    const name = `Seen ${colorScheme} ${width}`;
    await button(page, 'Create key').click();
    await examine('new key');
    await page.getByLabel('Name').fill(name);
    await button(page, 'Create key').click();
    await examine('new key, wrong');
    await page.getByLabel('Internal notes').check();
    await page.getByLabel('Expiration').selectOption('30 days');
    await button(page, 'Create key').click();
    await examine('shown once');
    expect(await note(await shownKey(page))).toBe(201);
    await link(page, 'Done: go to the key’s page').click();
    await examine('key');
    await button(page, 'Change name or limit').click();
    await examine('change');
    await page.goBack();
    await button(page, 'Revoke').click();
    await examine('revoke');
    await page.goBack();
    await button(page, 'Rotate').click();
    await examine('rotate');
    await button(page, 'Rotate').click();
    await examine('rotated');
    for (const path of [
      'keys',
      'audit',
      'audit?action=note.created&ticket=1001',
      'audit?q=nothing',
      'refused',
      'which-key',
      'revoke-all',
      'nowhere',
    ]) {
      await page.goto(`${server.url}/settings/northwind/${path}`);
      await examine(path);
    }
    await page.goto(`${server.url}/dev/sign-in`);
    await examine('sign-in');
    expect(Object.entries(found).filter(([, complaints]) => String(complaints) !== '')).toEqual([]);
  });
});
