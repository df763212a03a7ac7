import type { Page } from 'playwright-core';
import { accessibilityViolations, overflowOf } from './browser.ts';
import { inLongRuns } from './property.ts';

/** The rules whose result depends on the colour scheme or the width. */
const OF_THE_SCREEN = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable', 'target-size'];

/**
 * What is wrong with a page: the accessibility rules that it breaks, and the widths for which it is too wide. A long
 * run tries all rules in light and dark at each width; otherwise a desktop in light, and on the narrowest phone in dark
 * the rules that depend on the screen.
 */
export async function faultsOf(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const width of [1280, 768, 390, 320]) {
    await page.setViewportSize({ width, height: 800 });
    const overflow = await overflowOf(page);
    if (overflow !== 0) found.push(`${page.url()}, ${width} px: is ${overflow} px too wide`);
    for (const colorScheme of ['light', 'dark'] as const) {
      const isFirst = width === 1280 && colorScheme === 'light';
      const isLast = width === 320 && colorScheme === 'dark';
      if (!inLongRuns(true, isFirst || isLast)) continue;
      await page.emulateMedia({ colorScheme });
      const broken = await accessibilityViolations(page, inLongRuns(true, isFirst) ? undefined : OF_THE_SCREEN);
      found.push(...broken.map((rule) => `${page.url()}, ${colorScheme}, ${width} px: ${rule}`));
    }
  }
  return found;
}
