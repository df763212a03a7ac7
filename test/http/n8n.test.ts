import { expect, test } from 'vitest';
import * as z from 'zod';
import { makeApi, makeKey, makeOrganization, rowsOf } from '../support/world.ts';

const answer = z.object({ entry: z.object({ id: z.string() }), idempotentReplay: z.boolean().optional() });
const PAUSE_MS = 5_000;
const MAX_TRIES = 5;

test("n8n's way of sending 150 items at once, and all of them again if one fails, writes each exactly once", async () => {
  const organization = await makeOrganization();
  const key = await makeKey(organization);
  const api = makeApi();
  const fromOneAddress = { 'CF-Connecting-IP': '192.0.2.150' };

  /** One HTTP Request node with Retry On Fail. */
  async function runNode() {
    for (let tries = 1; ; tries++) {
      const sent = Array.from({ length: 150 }, (_, n) =>
        api.postTime(
          key.value,
          { minutes: 5, description: `Event ${n}`, billable: true },
          { 'Idempotency-Key': `triage:evt-${n}`, ...fromOneAddress },
        ),
      );
      const responses = await Promise.all(sent);
      if (responses.every(({ ok }) => ok)) {
        return {
          tries,
          answers: await Promise.all(responses.map(async (response) => answer.parse(await response.json()))),
        };
      }
      if (tries === MAX_TRIES) throw new Error('n8n gives up');
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  const first = await runNode();
  const again = await runNode();
  expect(again.tries).toBeGreaterThan(1);
  expect(again.answers.map(({ entry }) => entry.id)).toEqual(first.answers.map(({ entry }) => entry.id));
  expect(again.answers.every(({ idempotentReplay }) => idempotentReplay)).toBe(true);
  expect(await rowsOf('time_entries', organization)).toHaveLength(150);
}, 60_000);
