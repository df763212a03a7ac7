import type { ChildProcess } from 'node:child_process';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { withLocalD1 } from '../../src/ops/local.ts';
import { accessibilityViolations, follow, openOthers, overflowOf, watch } from '../support/browser.ts';
import { importOrganizations, insertKeys } from '../support/many-keys.ts';
import { freePort, start, stop } from '../support/server.ts';
import { connectBrowser, copyDatabase } from '../support/shared.ts';

// The settings area of an administrator with 25 organizations, one of which has 60 keys.

const EMAIL = 'max@manykeys.example';
const ORGANIZATIONS = Array.from({ length: 25 }, (_, index) => ({
  id: `msp-${index + 1}`,
  name: index === 3 ? 'Contoso Pharmaceuticals and Medical Devices GmbH & Co. KG' : `Customer ${index + 1}`,
}));

// A server of its own: the database of the shared one is busy while other tests write.
let local: Awaited<ReturnType<typeof copyDatabase>>;
let server: ChildProcess;
let url: string;
let browser: Browser;

beforeAll(async () => {
  local = await copyDatabase();
  await withLocalD1(local.persistTo, async (db) => {
    await importOrganizations(db, ORGANIZATIONS, EMAIL);
    await insertKeys(db, 'msp-4', 60, Date.now());
    await db
      .prepare(
        `insert into audit_log select organization_id, seq + 1, ?1, 'system', 'psa', 'PSA', 'time_entry.refused', 'r', 'TCK-2026-000481', 'q',
           null, '127.0.0.1', null, 'Closed period', '', 0, 0 from audit_log where organization_id = 'msp-4' order by seq desc limit 1`,
      )
      .bind(Date.now())
      .run();
    // Every other reason, and five lost writes.
    const reasons = ['address_not_allowed', 'technician_not_eligible', 'ticket_not_found'];
    await db
      .prepare(
        `insert into refused_uses select 'msp-4', k.id, value, 30, ?2 - 9e6, ?2 - 6e4, '2001:db8:8a2e:370:7334:1c5f:9b0e:42d1', null, null, '', null
         from json_each(?1) cross join (select id from api_keys where organization_id = 'msp-4' and revoked_at is null
           and expires_at is null and successor_id is null order by length(name) desc limit 1) k`,
      )
      .bind(JSON.stringify(reasons), Date.now())
      .run();
    const lost = Array.from({ length: 5 }, (_, event) => ({
      at: Date.now(),
      idempotencyKey: `summary-of-the-night:evt-${event}`,
      ticketId: `TCK-2026-00048${event}`,
      requestId: `0190a0b1-0000-7000-8000-00000000000${event}`,
    }));
    const lose =
      "update refused_uses set lost_writes = ? where organization_id = 'msp-4' and reason = 'idempotency_mismatch'";
    await db.prepare(lose).bind(JSON.stringify(lost)).run();
    const requests = [
      ['validation_failed', '["/minutes","/billable","/?"]', null],
      ['technician_not_eligible', null, 'a.technician.with.a.long.name@customers.contoso-pharmaceuticals.example'],
      ['address_not_allowed', null, null],
    ];
    await db
      .prepare(
        `insert into refused_requests select organization_id, '0190a0b1-0000-7000-8000-00000000010' || r.key, key_id, ?2, 422,
           r.value ->> 0, r.value ->> 1, 'TCK-2026-000481', r.value ->> 2, null, source_address, 'Mozilla/5.0 (compatible; n8n; automation of the night)'
         from refused_uses, json_each(?1) r where organization_id = 'msp-4' and reason = 'address_not_allowed'`,
      )
      .bind(JSON.stringify(requests), Date.now())
      .run();
  });
  const port = await freePort();
  url = `http://localhost:${port}`;
  [{ server }, browser] = await Promise.all([
    start('--port', String(port), '--persist-to', local.persistTo),
    connectBrowser(),
  ]);
});
afterAll(async () => {
  await browser?.close();
  if (server) await stop(server);
  await local?.remove();
});

/** A page of the organization with 60 keys, and the list of the browser's complaints. */
async function open(
  path = '/keys',
  options: BrowserContextOptions = {},
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints = watch(page, url);
  await page.goto(`${url}/settings`);
  await openOthers(page);
  await follow(page.getByRole('button', { name: 'Max Manykeys' }).first());
  await page.goto(`${url}/settings/msp-4${path}`);
  return { page, complaints };
}

const names = (page: Page) => page.locator('.keys .name').allTextContents();
const heightOf = (page: Page) => page.evaluate('document.documentElement.scrollHeight');

/**
 * Words, dates, hints and parts of addresses in the main part of the page that take several lines.
 * Words of more than 20 characters may break.
 */
const BROKEN = `(() => {
  const broken = [];
  const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const whole = node.parentElement.closest('time, .hint, .state, .chip, .number');
    const pieces = whole ? [{ index: 0, 0: node.data }] : node.data.matchAll(/[^\\s:/-]{1,20}(?![^\\s:/-])/g);
    if (node.parentElement.closest('.visually-hidden, svg, option, pre, code:not(.hint)')) continue;
    for (const { index, 0: piece } of pieces) {
      if (!whole && index > 0 && /[^\\s:/-]/.test(node.data[index - 1])) continue;
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + piece.length);
      const lines = new Set(Array.from(range.getClientRects(), ({ top }) => Math.round(top)));
      if (lines.size > 1) broken.push(piece);
    }
  }
  return broken;
})()`;

test('60 keys fit on one page without a broken word, from 320 px on', async () => {
  const { page, complaints } = await open();
  const heights: Record<number, unknown> = {};
  for (const width of [1280, 1000, 768, 390, 320]) {
    await page.setViewportSize({ width, height: 800 });
    heights[width] = await heightOf(page);
    expect([width, await overflowOf(page), await page.evaluate(BROKEN)]).toEqual([width, 0, []]);
  }
  expect((await names(page)).length).toBeGreaterThan(50);
  expect(await page.locator('.attention li').count()).toBe(7);
  expect(heights[1280]).toBeLessThanOrEqual(4_000);
  expect(heights[390]).toBeLessThanOrEqual(6_000);
  expect(complaints).toEqual([]);
});

test('a row of refused requests by reason and of lost writes is at most 220 px high at 768 and 390 px, one of a refused request 330 px, and accessible', async () => {
  const { page, complaints } = await open('/refused');
  for (const width of [1280, 768, 390, 320]) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme: width === 390 ? 'dark' : 'light' });
    const heightsOf = async (table: string) =>
      Promise.all(
        (await page.locator(`${table} tbody tr`).all()).map(async (row) => (await row.boundingBox())?.height ?? 0),
      );
    const [heights, requests] = [await heightsOf('table:not(.refused-requests)'), await heightsOf('.refused-requests')];
    expect([heights.length, requests.length]).toEqual([9 + 5, 3]);
    if (width !== 320) expect(Math.max(...heights)).toBeLessThanOrEqual(220);
    if (width !== 320) expect(Math.max(...requests)).toBeLessThanOrEqual(330);
    expect([width, await overflowOf(page), await page.evaluate(BROKEN)]).toEqual([width, 0, []]);
    expect(await accessibilityViolations(page)).toEqual([]);
  }
  expect(complaints).toEqual([]);
});

test('what the PSA refused covers no ticket in the log, whose filters and numbers are accessible', async () => {
  const { page, complaints } = await open('/audit?minutes=1');
  expect(await accessibilityViolations(page)).toEqual([]);
  await page.goto(`${url}/settings/msp-4/audit`);
  for (const width of [1600, 1280, 961, 768, 390, 320]) {
    await page.setViewportSize({ width, height: 800 });
    await page.evaluate("document.querySelectorAll('.log details').forEach((one) => { one.open = false; })");
    const [chip, ticket] = await Promise.all(
      ['.chip', '.ticket-id'].map((selector) => page.locator(`.log ${selector}`).first().boundingBox()),
    );
    expect(chip && ticket && chip.x + chip.width <= ticket.x).toBe(true);
    const cut = "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.ticket-id'))";
    // Both are rounded. At 320 px, there is no room for a ticket beside the longest chip.
    if (width > 320) expect(await page.evaluate(cut)).toBeLessThanOrEqual(1);
    await page.evaluate("document.querySelectorAll('.log details').forEach((one) => { one.open = true; })");
    expect([width, await overflowOf(page)]).toEqual([width, 0]);
    expect(await accessibilityViolations(page)).toEqual([]);
  }
  expect(await page.getByText('1–2 of 2').count()).toBe(1);
  expect(complaints).toEqual([]);
});

test('the header takes two lines with 25 organizations, at every width', async () => {
  const { page } = await open();
  for (const width of [1280, 390, 320]) {
    await page.setViewportSize({ width, height: 800 });
    const box = await page.locator('body > header').boundingBox();
    expect(box?.height).toBeLessThanOrEqual(110);
  }
});

test('lists of keys and of organizations, a key with its numbers, and open menus are accessible', async () => {
  const { page } = await open();
  const found: unknown[] = [];
  const key = new URL((await page.locator('.keys .name').first().getAttribute('href')) ?? '', url).pathname;
  const list = '/settings/msp-4/keys';
  for (const path of [list, `${list}?fact=refused_expired`, `${list}?q=nothing&fact=key_unused`, key, '/settings']) {
    await page.goto(`${url}${path}`);
    await page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })");
    for (const [menu, colorScheme, width] of [
      ['.switcher', 'light', 1280],
      ['.overflow', 'dark', 390],
      ['.user', 'dark', 768],
      ['.user', 'light', 320],
      ['', 'light', 320],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await page.evaluate(
        `document.querySelectorAll('.menu').forEach((one) => { one.open = one.matches('${menu || 'a'}'); })`,
      );
      const overflow = await overflowOf(page);
      // An overflow at the left side is not part of the scroll width.
      for (const pop of await page.locator('.menu[open] .pop').all())
        if (((await pop.boundingBox())?.x ?? 0) < 0) found.push(`${menu} of ${path} begins outside at ${width} px`);
      found.push(...(await accessibilityViolations(page)), ...(overflow === 0 ? [] : [`${path} at ${width} px`]));
    }
  }
  expect(found).toEqual([]);
});

test('on a phone, the list of organizations shows the most urgent fact of each', async () => {
  const { page } = await open('/keys', { viewport: { width: 390, height: 800 } });
  await page.goto(`${url}/settings`);
  const urgent = page.locator('.organizations tr', { hasText: 'Contoso' }).getByRole('link').nth(1);
  expect([await urgent.isVisible(), await urgent.innerText()]).toEqual([true, '1 expired key is still in use']);
});

test('with script, the menu of organizations is filtered while typing, and Escape closes it', async () => {
  const { page } = await open();
  await page.locator('.switcher > summary').click();
  await page.getByRole('searchbox', { name: /Search .* organizations/ }).fill('customer 25');
  const listed = page.locator('.switcher nav a:visible');
  expect(await listed.allTextContents()).toEqual(['Customer 25']);
  await page.keyboard.press('Escape');
  expect(await listed.count()).toBe(0);
  expect(await page.evaluate('document.activeElement.localName')).toBe('summary');
  await page.keyboard.press('Enter');
  await listed.waitFor();
  // Beside the menu.
  await page.locator('body > footer').click();
  expect(await listed.count()).toBe(0);
});
