import { evictDurableObject, runDurableObjectAlarm } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { beforeAll, expect, test, vi } from 'vitest';
import { Pusher } from '../../../src/modules/push/pusher.ts';
import { resumePush } from '../../../src/services/work/push-control.ts';
import { addChanges } from '../../support/many-changes.ts';
import { inLongRuns, runs } from '../../support/property.ts';
import { type Answer, answering, asPushOperator, expectDelivered, makePushed, storedBy, usePush } from './support.ts';

// Random sequences of changes, wakes, answers of the receiver, evictions and orders. Whatever
// happens, the receiver ends up with the feed, and a page changes only to its first half after a timeout.

const push = usePush();
/** The alarms that run. One whose object was evicted never ends. */
const running = new Set<object>();
beforeAll(() => {
  const { alarm } = Pusher.prototype;
  vi.spyOn(Pusher.prototype, 'alarm').mockImplementation(async function (this: Pusher) {
    const token = {};
    running.add(token);
    await alarm.call(this).finally(() => running.delete(token));
  });
});

const stored =
  (answer: Answer): Answer =>
  (receive, init) => {
    receive();
    return answer(() => undefined, init);
  };
const disconnecting: Answer = () => Promise.reject(new TypeError('reset'));
const ANSWERS: Record<string, Answer> = {
  'a 500': answering(500),
  'a 500 after it was stored': stored(answering(500)),
  'a disconnect': disconnecting,
  'a disconnect after it was stored': stored(disconnecting),
  'a 410': answering(410),
  'a 410 after it was stored': stored(answering(410)),
  'a timeout': answering(504),
  'a timeout after it was stored': stored(answering(504)),
};

type Step =
  | { do: 'change'; count: number }
  | { do: 'answer'; answers: (keyof typeof ANSWERS | 'a 200')[] }
  | { do: 'wake' | 'alarm' | 'evict' | 'resume' };
const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('change' as const), count: fc.integer({ min: 1, max: 150 }) }),
    fc.record({
      do: fc.constant('answer' as const),
      answers: fc.array(fc.constantFrom('a 200', ...Object.keys(ANSWERS)), { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ do: fc.constantFrom('wake' as const, 'alarm' as const, 'evict' as const, 'resume' as const) }),
  ),
  { minLength: 3, maxLength: 14 },
);

test('after any sequence of failures the receiver has every change once, in order', {
  timeout: 120_000,
}, async () => {
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  await fc.assert(fc.asyncProperty(steps, run), {
    numRuns: runs('sequences of a push', inLongRuns(20, 10)),
    endOnFailure: true,
  });
});

async function run(sequence: Step[]): Promise<void> {
  const { organization } = await makePushed();
  const object = () => env.PUSHER.getByName(organization);
  const planned: string[] = [];
  let timeouts = 0;
  push.answers.set(organization, (receive, init) => {
    const name = planned.shift() ?? '';
    if (name.startsWith('a timeout')) timeouts += 1;
    const answer = ANSWERS[name];
    return answer ? answer(receive, init) : answering(200)(receive, init);
  });
  /** Waits until no alarm runs or is due. */
  const rest = async () => {
    for (;;) {
      const { alarm } = await storedBy(organization);
      if (running.size === 0 && (alarm === null || alarm > Date.now() + 1_000)) return;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  const resume = async () => {
    await resumePush(asPushOperator(), { organization, by: 'Ada' });
  };
  for (const step of sequence) {
    if (step.do === 'change') await addChanges(organization, step.count);
    if (step.do === 'answer') planned.splice(0, planned.length, ...step.answers);
    if (step.do === 'wake') await object().wake(organization);
    if (step.do === 'alarm') await runDurableObjectAlarm(object());
    if (step.do === 'evict') {
      // Only an object that is in memory can be evicted.
      await storedBy(organization);
      await evictDurableObject(object());
      running.clear();
    }
    if (step.do === 'resume') await resume();
    // Only sometimes, so that steps also happen while a page is being sent.
    if (step.do === 'evict' || step.do === 'answer') await rest();
  }
  planned.length = 0;
  await rest();
  // The object forgets when it made its last attempt.
  await storedBy(organization);
  await evictDurableObject(object());
  await resume();
  await object().wake(organization);
  await rest();
  await expectDelivered(push.receiver, organization);
  const overlaps = push.receiver.overlapsOf(organization);
  expect(overlaps.filter(({ isHalf }) => !isHalf)).toEqual([]);
  if (timeouts === 0) expect(overlaps).toEqual([]);
}
