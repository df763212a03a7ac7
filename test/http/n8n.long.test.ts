import { expect, onTestFinished, test, vi } from 'vitest';
import * as z from 'zod';
import { makeWorld, newAddress, rowsOf } from '../support/world.ts';

const written = z.object({ entry: z.object({ id: z.string() }), idempotentReplay: z.boolean().optional() });
/** The settings of the node that the README recommends. */
const PAUSE_MS = 5_000;
const MAX_TRIES = 5;

test('an n8n node that sends 150 items at once, and all of them again if one fails, writes each exactly once', async () => {
  // Only the clock: the pauses of the node take no time.
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const { organization, key, api } = await makeWorld();
  const fromOneAddress = { 'CF-Connecting-IP': newAddress() };

  /** Runs an HTTP Request node with Retry On Fail. */
  async function runNode() {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const responses = await Promise.all(
        Array.from({ length: 150 }, (_, n) =>
          api.postTime(
            key,
            { minutes: 5, description: `Event ${n}`, billable: true },
            { 'Idempotency-Key': `triage:evt-${n}`, ...fromOneAddress },
          ),
        ),
      );
      if (responses.every(({ ok }) => ok)) {
        return { tries, items: await Promise.all(responses.map(async (one) => written.parse(await one.json()))) };
      }
      vi.setSystemTime(Date.now() + PAUSE_MS);
    }
    throw new Error('The node gave up');
  }

  const first = await runNode();
  const second = await runNode();
  expect(second.tries).toBeGreaterThan(1);
  expect(second.items.map(({ entry }) => entry.id)).toEqual(first.items.map(({ entry }) => entry.id));
  expect(second.items.every(({ idempotentReplay }) => idempotentReplay)).toBe(true);
  expect(await rowsOf('time_entries', organization)).toHaveLength(150);
}, 60_000);
