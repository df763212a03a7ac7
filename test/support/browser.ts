import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import * as z from 'zod';

const INSTALLED = ['/usr/bin/chromium', '/usr/bin/google-chrome'];
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
];

/** A browser without a window: the machine's own, or else the one that comes in a package. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = INSTALLED.find((path) => existsSync(path)) ?? (await packagedChromium());
  return chromium.launch({ executablePath, args: FLAGS });
}

async function packagedChromium(): Promise<string> {
  // The package unpacks the system libraries it needs only where it believes itself to be.
  process.env['AWS_EXECUTION_ENV'] ??= 'AWS_Lambda_nodejs22.x';
  const { default: packaged } = await import('@sparticuz/chromium');
  return packaged.executablePath();
}

/** What a page did that it should not have: requests to other hosts, messages on the console, errors. A growing list. */
export function watch(page: Page, origin: string): string[] {
  const complaints: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`) && !/^(data|blob):/.test(request.url()))
      complaints.push(`asked for ${request.url()}`);
  });
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`threw ${error.message}`));
  return complaints;
}

const violations = z.array(
  z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string(), failureSummary: z.string().optional() })) }),
);

// Beside its own selection of rules the one of WCAG 2.2 AA that axe leaves off.
const RUN = "axe.run({ rules: { 'target-size': { enabled: true } } }).then(({ violations }) => violations)";

/** What axe finds wrong with a page: each rule with the elements that break it. */
export async function inaccessible(page: Page): Promise<string[]> {
  await page.waitForLoadState();
  // What still unfolds would be too small.
  await page.evaluate('Promise.allSettled(document.getAnimations().map(({ finished }) => finished))');
  // Put in by the debugger, which no Content-Security-Policy holds back.
  await page.evaluate(await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8'));
  const found = violations.parse(await page.evaluate(RUN));
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`),
  );
}
