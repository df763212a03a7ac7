import { expect, test } from 'vitest';
import { productionBuild } from '../support/shared.ts';

test('the production bundle stays under 160 KB gzipped, without the static files', async () => {
  const { code, output } = await productionBuild();
  expect([code, output]).toEqual([0, expect.stringMatching(/\d+\.\d KB gzipped, at most 160 KB/)]);
});
