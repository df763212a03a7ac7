import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { withReplica } from '../../support/d1.ts';
import { compareWithAcknowledged } from '../../support/ledger.ts';
import { inLongRuns, runs } from '../../support/property.ts';
import {
  BATCH_FAULTS,
  type Call,
  type Fault,
  Faults,
  LIMITER_FAULTS,
  LOST,
  LOST_ACKNOWLEDGEMENT,
  READ_FAULTS,
  realTime,
  withFakeClock,
} from './faults.ts';
import {
  type Claim,
  consistentRecordsOf,
  contradictions,
  INTERFACES,
  makeWorld,
  readClaim,
  send,
  sendWithoutFaults,
  type Write,
} from './writes.ts';

let injected = 0;

withFakeClock();
afterAll(() => {
  console.log(`${injected} faults injected and survived in sequences`);
});

describe('a write', () => {
  const NOTE: Write = { kind: 'note', idempotencyKey: undefined, text: 'x' };

  test('a write has an unknown outcome if its committed batch was not acknowledged, the retry was refused, and it cannot be read back', async () => {
    const { organization, key } = await makeWorld();
    const faulty = new Faults();
    const overloaded = READ_FAULTS.find(({ kind }) => kind === 'overloaded');
    const faults: Partial<Record<Call, (Fault | undefined)[]>> = {
      batch: [LOST_ACKNOWLEDGEMENT, overloaded],
      read: [LOST, LOST, LOST],
    };
    faulty.choose = (call) => faults[call]?.shift();
    const claim = await readClaim(await send(faulty.makeApi(), key, NOTE), false);
    await faulty.end();
    injected += faulty.injected;
    expect([claim.outcome, claim.wrong]).toEqual(['outcome_unknown', []]);
    expect(await consistentRecordsOf(organization)).toHaveLength(1);
  });

  test('a write is not sent if no time is left for it', async () => {
    const { organization, key } = await makeWorld();
    const faulty = new Faults();
    const calls: Call[] = [];
    faulty.choose = (call) => {
      calls.push(call);
      if (call === 'key') vi.setSystemTime(Date.now() + 10_000);
      return undefined;
    };
    const claim = await readClaim(await send(faulty.makeApi(), key, NOTE), false);
    expect([claim.outcome, claim.wrong]).toEqual(['unavailable', []]);
    expect(calls).toEqual(['ip', 'near', 'key']);
    expect(await consistentRecordsOf(organization)).toEqual([]);
  });
});

test('a ping gets 503 unavailable if its key cannot be read', async () => {
  const { key } = await makeWorld();
  const faulty = new Faults();
  faulty.choose = (call) => (call === 'read' ? LOST : undefined);
  const claim = await readClaim(await faulty.makeApi().send('/api/v1/ping', { key }), false);
  expect([claim.outcome, claim.wrong]).toEqual(['unavailable', []]);
});

const faultsOf = (faults: readonly Fault[], maxLength: number) =>
  fc.array(fc.option(fc.constantFrom(...faults), { nil: undefined, freq: 3 }), { maxLength });

/**
 * Requests that are sent at once, and the faults of their calls, one after the other, by the kind
 * of call.
 */
const burst = fc.record({
  requests: fc.array(
    fc.record({
      kind: fc.constantFrom('note', 'time entry'),
      idempotencyKey: fc.constantFrom(undefined, 'a', 'b', 'c'),
      through: fc.constantFrom(...INTERFACES),
      isolate: fc.nat(1),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  ip: faultsOf(LIMITER_FAULTS, 2),
  key: faultsOf(LIMITER_FAULTS, 2),
  near: faultsOf(READ_FAULTS, 3),
  read: faultsOf(READ_FAULTS, 6),
  batch: faultsOf(BATCH_FAULTS, 6),
});

test('after any sequence of faults each acknowledged record exists once, and a repeat creates exactly one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(burst, { minLength: 3, maxLength: 8 }), fc.boolean(), async (bursts, hasReplica) => {
      const { organization, key } = await makeWorld();
      const replica = withReplica(env.DB);
      await replica.catchUp(organization);
      const faulty = new Faults(hasReplica ? replica.db : env.DB);
      const isolates = [0, 1].map(() => faulty.makeApi());
      const claims: { write: Write; claim: Claim }[] = [];
      let texts = 0;

      for (const { requests, ...faults } of bursts) {
        faulty.choose = (call) => faults[call].shift();
        let answered = false;
        const answers = Promise.all(
          requests.map(async ({ kind, idempotencyKey, isolate, ...request }) => {
            // Repeats under an Idempotency-Key have the same text. All others have a text of their
            // own.
            const text = idempotencyKey === undefined ? `${++texts}` : `${kind} ${idempotencyKey}`;
            // Every call of a tool has an Idempotency-Key.
            const through = idempotencyKey === undefined ? 'REST' : request.through;
            const write: Write = { kind, through, idempotencyKey, text };
            const response = await send(isolates[isolate] ?? faulty.makeApi(), key, write);
            claims.push({ write, claim: await readClaim(response, idempotencyKey !== undefined) });
          }),
        ).finally(() => {
          answered = true;
        });
        // One request may have used up the time that another one's fault added to the clock.
        while (!answered) {
          for (let waited = 0; waited < 20 && !answered; waited += 2) await realTime(2);
          if (!answered) vi.advanceTimersToNextTimer();
        }
        await answers;
      }
      await faulty.end();
      injected += faulty.injected;

      const records = await consistentRecordsOf(organization);
      expect(claims.flatMap(({ claim }) => contradictions(claim, records))).toEqual([]);
      expect(await compareWithAcknowledged(env.DB, organization, acknowledgedBy(claims))).toMatchObject({
        missing: [],
      });

      const repeatable = claims.map(({ write }) => write).filter(({ idempotencyKey }) => idempotencyKey !== undefined);
      for (const write of new Map(repeatable.map((write) => [write.text, write])).values()) {
        const there = records.find(({ text }) => text === write.text);
        const repeated = await readClaim(await sendWithoutFaults(key, write), true);
        expect(repeated).toMatchObject(there ? { outcome: 'replayed', id: there.id } : { outcome: 'written' });
      }
      // Throws if the repeats have made the audit log inconsistent.
      await consistentRecordsOf(organization);
    }),
    { numRuns: runs('sequences of faults', inLongRuns(60, 10)), endOnFailure: true },
  );
}, 300_000);

/** The texts of the writes that were answered 200 or 201, by the ids of their records. */
function acknowledgedBy(claims: readonly { write: Write; claim: Claim }[]): Map<string, string> {
  return new Map(
    claims.flatMap(({ write, claim }) => (claim.id === undefined ? [] : [[claim.id, write.text] as const])),
  );
}
