import { expect, test } from 'vitest';
import { inLongRuns } from '../../../support/property.ts';
import { copyDatabase, productionBundle } from '../../../support/shared.ts';
import { FAULTS, type Fault, pushCrash } from './push-crash.ts';

/** Without most of those after which the service pauses for 5 to 10 seconds. */
const SHORT: readonly Fault[] = [
  'the service dies before the receiver stores the page',
  'the service dies after the receiver has stored the page, before its response',
  'the service dies right after the response',
  'the service dies right after a write was acknowledged',
  'the receiver dies after it has stored the page',
];
/** Each of them several times, in a random order. */
const LONG = Array.from({ length: 4 }, () => FAULTS)
  .flat()
  .map((fault) => ({ fault, at: Math.random() }))
  .sort((a, b) => a.at - b.at)
  .map(({ fault }) => fault);

const faults = inLongRuns<readonly Fault[]>(LONG, SHORT);

test('service and receiver are killed at every step of a push, and the receiver has the feed in the end', {
  timeout: 60_000 + faults.length * 40_000,
}, async () => {
  const database = await copyDatabase();
  try {
    const run = await pushCrash(faults, { database, bundle: await productionBundle() });
    expect(run.problems).toEqual([]);
    expect(run.duplicates).toBeGreaterThan(0);
    const { deliveries, duplicates, changes } = run;
    console.log(
      `${faults.length} crashes and failures: ${changes} changes arrived in order, in ${deliveries} messages, ${duplicates} of them twice`,
    );
  } finally {
    await database.remove();
  }
});
