import { expect, test } from 'vitest';
import { inLongRuns } from '../support/property.ts';
import { copyDatabase, productionBundle } from '../support/shared.ts';
import { report, soak } from './soak.ts';

const MINUTES = inLongRuns(10, 0.05);

test(
  'a steady mixed load gets the expected responses, loses nothing, and does not make memory grow',
  async () => {
    const database = await copyDatabase('demo');
    try {
      const run = await soak(MINUTES, { database, bundle: await productionBundle() });
      console.log(report(run));
      expect(run.problems).toEqual([]);
      expect(run.written).toBeGreaterThan(0);
    } finally {
      await database.remove();
    }
  },
  MINUTES * 60_000 + 120_000,
);
