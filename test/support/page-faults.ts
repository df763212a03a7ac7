import type { Page } from 'playwright-core';
import * as z from 'zod';
import { accessibilityViolations, overflowOf } from './browser.ts';
import { inLongRuns } from './property.ts';

/** The rules whose result depends on the colour scheme or the width. */
const OF_THE_SCREEN = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable', 'target-size'];

/** The labels of the cells whose text after an element would be in the column of the label. */
const MISPLACED = `[...document.querySelectorAll('[data-label]')]
  .filter((cell) => getComputedStyle(cell).display === 'grid')
  .filter((cell) => [...cell.childNodes].slice(1).some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()))
  .map((cell) => cell.dataset.label)`;

/**
 * What is wrong with a page: the accessibility rules that it breaks, the widths for which it is too wide, and misplaced
 * text. A long run tries all rules in light and dark at each width; otherwise a desktop in light, and the rules that depend
 * on the screen on the narrowest phone in dark, or in light and dark at each other width. It leaves the page on a desktop in
 * light.
 */
export async function faultsOf(page: Page, { onEveryScreen = false } = {}): Promise<string[]> {
  const found: string[] = [];
  for (const width of [320, 390, 768, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    const overflow = await overflowOf(page);
    if (overflow !== 0) found.push(`${page.url()}, ${width} px: is ${overflow} px too wide`);
    const misplaced = z.array(z.string()).parse(await page.evaluate(MISPLACED));
    found.push(...misplaced.map((label) => `${page.url()}, ${width} px: text under the label ${label}`));
    for (const colorScheme of ['dark', 'light'] as const) {
      const isDesktop = width === 1280 && colorScheme === 'light';
      const isPhone = width === 320 && colorScheme === 'dark';
      const isTried = onEveryScreen ? width > 320 : isDesktop || isPhone;
      if (!inLongRuns(true, isTried)) continue;
      await page.emulateMedia({ colorScheme });
      const broken = await accessibilityViolations(page, inLongRuns(true, isDesktop) ? undefined : OF_THE_SCREEN);
      found.push(...broken.map((rule) => `${page.url()}, ${colorScheme}, ${width} px: ${rule}`));
    }
  }
  return found;
}
