import { existsSync, rmSync } from 'node:fs';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BrowserServer, chromium, type Locator, type Page } from 'playwright-core';
import * as z from 'zod';

const INSTALLED = ['/usr/bin/chromium', '/usr/bin/google-chrome'];
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
];

/**
 * Launches a headless browser to connect to: the one installed on this machine, or else the one in
 * a package.
 */
export async function launchBrowser(): Promise<BrowserServer> {
  const executablePath = INSTALLED.find((path) => existsSync(path)) ?? (await packagedChromium());
  // Chromium and the libraries of the desktop write to the home directory, even with a profile elsewhere.
  const home = await mkdtemp(join(tmpdir(), 'twb-browser-'));
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home };
  const browser = await chromium.launchServer({ executablePath, args: FLAGS, env });
  return browser.on('close', () => rmSync(home, { recursive: true }));
}

async function packagedChromium(): Promise<string> {
  // The package unpacks the system libraries it needs only if it believes that it runs on AWS
  // Lambda.
  process.env['AWS_EXECUTION_ENV'] ??= 'AWS_Lambda_nodejs22.x';
  const { default: packaged } = await import('@sparticuz/chromium');
  return packaged.executablePath();
}

/**
 * Collects what a page must not do: requests to other hosts, warnings on the console, errors. The
 * list grows while the page is open.
 */
export function watch(page: Page, origin: string): string[] {
  const complaints: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`) && !/^(data|blob):/.test(request.url()))
      complaints.push(`requested ${request.url()}`);
  });
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`threw ${error.message}`));
  return complaints;
}

/**
 * Clicks a link or a button that opens a page, and waits until the page has loaded. A click alone
 * returns before a slow server has answered, and what is read then belongs to the old page.
 */
export async function follow(target: Locator): Promise<void> {
  const page = target.page();
  // The load event of the old page may come late. A new page has no other than its own.
  const opened = page.waitForEvent('framenavigated', (frame) => frame === page.mainFrame());
  await target.click();
  await opened;
  await page.waitForLoadState();
}

/** Opens the fold of the local sign-in page with everyone who is not of the demo data. */
export const openOthers = async (page: Page): Promise<void> =>
  page.evaluate("for (const fold of document.querySelectorAll('main details')) fold.open = true");

const violations = z.array(
  z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string(), failureSummary: z.string().optional() })) }),
);

// axe's own selection of rules, and the rule of WCAG 2.2 AA that it leaves off by default.
const RULES = "rules: { 'target-size': { enabled: true } }, resultTypes: ['violations']";

/** A function, because the global setup cannot resolve packages. */
const axePath = () => fileURLToPath(import.meta.resolve('axe-core/axe.min.js'));

/** Has the rules ready in every page that opens later, which takes less time than to add them to each. */
export const keepRules = (page: Page): Promise<unknown> => page.addInitScript({ path: axePath() });

/** The accessibility rules that a page breaks, each with the elements that break it: all rules, or only these. */
export async function accessibilityViolations(page: Page, only?: readonly string[]): Promise<string[]> {
  await page.waitForLoadState();
  // The debugger adds the script, because the page's Content-Security-Policy forbids it. A page that
  // is examined again, at another size, or that keeps the rules has it already.
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(await readFile(axePath(), 'utf8'));
  const options = only === undefined ? RULES : `${RULES}, runOnly: ${JSON.stringify(only)}`;
  const found = violations.parse(await page.evaluate(`axe.run({ ${options} }).then(({ violations }) => violations)`));
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`),
  );
}

/** How many pixels a page is wider than the screen. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
