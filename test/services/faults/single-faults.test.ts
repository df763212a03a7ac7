import { env } from 'cloudflare:workers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withReplica } from '../../support/d1.ts';
import { inLongRuns } from '../../support/property.ts';
import { type Fault, Faults, withFakeClock } from './faults.ts';
import { ALWAYS, maxAttempts, POINTS } from './points.ts';
import {
  consistentRecordsOf,
  contradictions,
  INTERFACES,
  makeWorld,
  readClaim,
  recordsOf,
  type StoredRecord,
  send,
  sendWithoutFaults,
  type Write,
} from './writes.ts';

// Every fault at every call of a request: the response is the expected one, what it says is true,
// and a repeat makes exactly one record.

let combinations = 0;
let injected = 0;

withFakeClock();
afterAll(() => {
  console.log(`${injected} faults injected and survived in ${combinations} combinations`);
});

/**
 * Each fault is tried in this share of the situations, and each situation with this share of the
 * faults.
 */
const SHARE = inLongRuns(1, 24);

interface Situation {
  kind: Write['kind'];
  isRepeatable: boolean;
  isCached: boolean;
  /** Whether a replica is nearer than the primary. */
  hasReplica: boolean;
  through: (typeof INTERFACES)[number];
  /** How many times in a row the call fails. */
  times: number;
}

describe.each(POINTS)(
  'a fault of $name',
  ({ call, afterBatch = false, faults, request, cached, otherFault, expected }) => {
    const repeatable = request === 'replay' ? [true] : [false, true];
    // Every call of a tool has an Idempotency-Key.
    const situations: Situation[] = [];
    for (const kind of ['note', 'time entry'] as const)
      for (const isRepeatable of repeatable)
        for (const isCached of cached)
          for (const hasReplica of isCached ? [false] : [false, true])
            for (const times of [1, 2, ALWAYS])
              for (const through of isRepeatable ? INTERFACES : (['REST'] as const))
                situations.push({ kind, isRepeatable, isCached, hasReplica, times, through });

    let world: Awaited<ReturnType<typeof makeWorld>>;
    /** All records that are there. */
    let records: StoredRecord[] = [];
    beforeAll(async () => {
      world = await makeWorld();
    });

    /** Sends a request whose call fails, then repeats it without faults. */
    async function tryOne(
      fault: Fault,
      { kind, isRepeatable, isCached, hasReplica, through, times }: Situation,
      name: string,
    ): Promise<StoredRecord[]> {
      const { organization, key } = world;
      const idempotencyKey = isRepeatable ? `k${name}` : undefined;
      const write: Write = { kind, through, idempotencyKey, text: name };
      const replica = withReplica(env.DB);
      if (hasReplica) await replica.catchUp(organization);
      const faulty = new Faults(hasReplica ? replica.db : env.DB);
      const api = faulty.makeApi();
      if (isCached) {
        // Not with a refused request: it would be recorded while the next request runs.
        expect((await api.send('/api/v1/ping', { key })).status).toBe(200);
      }
      if (request === 'replay') expect((await sendWithoutFaults(key, { ...write, through: 'REST' })).status).toBe(201);
      const known = request === 'replay' ? await recordsOf(organization) : records;

      let failures = 0;
      let otherFailures = 0;
      let batches = 0;
      faulty.choose = (next) => {
        if (next === 'batch') batches += 1;
        if (next === otherFault?.call && otherFailures++ < otherFault.times) return otherFault.fault;
        if (next !== call || batches > 0 !== (afterBatch || call === 'batch') || failures === times) return undefined;
        failures += 1;
        return fault;
      };
      const options = { unknownTicket: request === 'unknown ticket', invalidBody: request === 'invalid body' };
      const claim = await readClaim(await send(api, key, write, options), isRepeatable);
      // What was acknowledged is there at once, whatever is carried out later.
      if (claim.outcome === 'written') expect(contradictions(claim, await recordsOf(organization))).toEqual([]);
      await faulty.end();

      expect(expected(fault, times)).toContain(claim.outcome);
      // A 500 is sent only after the key was read again.
      const confirmations = claim.outcome === 'internal_error' && failures === 2 ? 1 : 0;
      expect(failures - confirmations).toBe(fault.kind === 'transient' ? Math.min(times, maxAttempts(call)) : 1);
      const after = await recordsOf(organization);
      expect(contradictions(claim, after)).toEqual([]);
      expect(after.filter(({ requestId }) => requestId !== claim.requestId)).toEqual(known);
      combinations += 1;
      injected += faulty.injected;
      if (!isRepeatable) return consistentRecordsOf(organization);

      const there = after.find(({ text }) => text === write.text);
      const repeated = await readClaim(await sendWithoutFaults(key, write), true);
      expect(repeated).toMatchObject(there ? { outcome: 'replayed', id: there.id } : { outcome: 'written' });
      const atTheEnd = await consistentRecordsOf(organization);
      expect(contradictions(repeated, atTheEnd)).toEqual([]);
      expect(atTheEnd.filter(({ text }) => text === write.text)).toHaveLength(1);
      return atTheEnd;
    }

    test.each(faults.map((fault, index) => ({ fault, index, kind: fault.kind, name: fault.name })))(
      'every situation keeps the promises ($kind: $name)',
      async ({ fault, index }) => {
        for (const [number, situation] of situations.entries()) {
          if ((number + index) % SHARE !== 0) continue;
          records = await tryOne(fault, situation, `${index}.${number}`).catch((err: unknown) => {
            throw new Error(`in the situation ${JSON.stringify(situation)}`, { cause: err });
          });
        }
      },
      120_000,
    );
  },
);
