import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inLongRuns } from '../../../support/property.ts';
import { copyDatabase, productionBundle } from '../../../support/shared.ts';
import { SAMPLE_RECEIVERS } from '../sample-receivers.ts';
import { makeSlowPsas, type Receiver, torture } from './slow-psa.ts';

// The sample receivers between the service and a PSA whose only interface is a slow REST API.

/** In `npm run test:long`, each call takes half a second, and a run ten minutes. */
const { writes, kills, delayMs } = inLongRuns(
  { writes: 300, kills: 10, delayMs: 500 },
  { writes: 15, kills: 3, delayMs: 25 },
);

let world: Awaited<ReturnType<typeof makeSlowPsas>>;
let removeDatabase: () => Promise<void>;
beforeAll(async () => {
  const database = await copyDatabase();
  removeDatabase = database.remove;
  world = await makeSlowPsas(SAMPLE_RECEIVERS, delayMs, { database, bundle: await productionBundle() });
});
afterAll(async () => {
  await world.close();
  await removeDatabase();
});

const inPsa = ({ psa }: Receiver) => psa.records.map(({ externalId: id, text }) => ({ id, text }));

describe('a slow PSA', () => {
  test(`contains each of ${writes} records once, in order, after its receiver was killed ${kills} times`, {
    timeout: 900_000,
  }, async () => {
    const runs = await Promise.all(
      world.receivers.map(async (receiver) => {
        const start = performance.now();
        const acknowledged = await torture(receiver, { writes, kills });
        const seconds = Math.round((performance.now() - start) / 1_000);
        console.log(
          `${receiver.language}: ${writes} writes, ${kills} kills, ${receiver.psa.calls} calls, ${seconds} s`,
        );
        return { receiver, acknowledged };
      }),
    );
    for (const { receiver, acknowledged } of runs) {
      expect(inPsa(receiver), receiver.language).toEqual(acknowledged);
      const notes = receiver.psa.records.filter(({ path }) => path === 'notes');
      expect(notes.every(({ internal }) => internal === true)).toBe(true);
    }
  });

  // In a long run, one receiver after the other repeats all of its calls.
  test('contains each record once after a restore of its own database to before six records, by a replay', {
    timeout: 900_000,
  }, async () => {
    for (const receiver of world.receivers) {
      const before = inPsa(receiver);
      await receiver.restorePsa(6);
      await receiver.settled(writes);
      expect(inPsa(receiver), receiver.language).toEqual(before);
    }
  });

  test('contains each record once after a restore of the database to before six of its records', {
    timeout: 300_000,
  }, async () => {
    const before = world.receivers.map(inPsa);
    const restore = await world.backUp();
    const writeAll = (...numbers: number[]) =>
      Promise.all(
        world.receivers.map(async (receiver) => {
          const written = [];
          for (const number of numbers) written.push(await receiver.write(writes + number));
          return written;
        }),
      );
    const lost = await writeAll(1, 2, 3, 4, 5, 6);
    await Promise.all(world.receivers.map((receiver) => receiver.settled(writes + 6)));
    await restore();
    // Three of the six are retried with their Idempotency-Key, and get the same ids. Three are new.
    const after = await writeAll(6, 2, 4, 7, 8, 9);
    await Promise.all(world.receivers.map((receiver) => receiver.settled(writes + 9)));
    for (const [index, receiver] of world.receivers.entries()) {
      const [sixLost = [], [a, b, c, ...added] = []] = [lost[index], after[index]];
      expect([a, b, c]).toEqual([sixLost[5], sixLost[1], sixLost[3]]);
      expect(inPsa(receiver), receiver.language).toEqual([...(before[index] ?? []), ...sixLost, ...added]);
      // Other records have used the numbers of lost changes.
      expect([...receiver.arrived.values()].filter(({ size }) => size === 2).length).toBeGreaterThanOrEqual(4);
    }
  });
});
