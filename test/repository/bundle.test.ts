import { stat } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { productionBuild } from '../support/shared.ts';

test('the production bundle stays under 265 KB gzipped, without the static files', async () => {
  const { code, output } = await productionBuild();
  expect([code, output]).toEqual([0, expect.stringMatching(/\d+\.\d KB gzipped, at most 265 KB/)]);
});

test('the stylesheet of all pages stays under 40 KB', async () => {
  expect((await stat('src/assets/pages.css')).size).toBeLessThan(40_000);
});
