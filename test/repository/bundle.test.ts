import { stat } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { productionBuild } from '../support/shared.ts';

test('the production bundle stays under 235 KB gzipped, without the static files', async () => {
  const { code, output } = await productionBuild();
  expect([code, output]).toEqual([0, expect.stringMatching(/\d+\.\d KB gzipped, at most 235 KB/)]);
});

test('the stylesheet of the settings area stays under 25 KB', async () => {
  expect((await stat('src/assets/settings.css')).size).toBeLessThan(25_000);
});
