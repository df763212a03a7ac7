import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Tally } from '../../support/hostile.ts';
import { inLongRuns, runs } from '../../support/property.ts';
import { EVENTS, event } from './events.ts';
import { World } from './world.ts';

// Organizations that are as alike as they can be. Random events happen in them, which name keys,
// records, tickets and users of any of the organizations. After each event every rule is checked:
// against the rows of the other organizations, which must not have changed, and against a model of
// what the event's own organization would respond if it were the only one.

test('between organizations that look alike, every rule holds after every event', async () => {
  const outcomes = new Tally();
  const types = new Set<string>();
  let worlds = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 30, maxLength: 40 }), async (events) => {
      const world = await World.make(`w${++worlds}`, { hasReplica: worlds % 3 === 0 });
      for (const one of events) {
        outcomes.add(`${one.do}: ${await world.run(one)}`);
        types.add(one.do);
      }
      expect(await world.ledgerInconsistencies()).toEqual([]);
    }),
    { numRuns: runs('isolation, in sequences of 30 to 40 events', inLongRuns(18, 6)), endOnFailure: true },
  );
  outcomes.print('isolation: events');
  expect(types.size).toBe(EVENTS.length);
}, 600_000);
