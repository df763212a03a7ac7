import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
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
} from '../support/faults.ts';
import { compareWithAcknowledged, inconsistencies } from '../support/ledger.ts';
import { runs } from '../support/property.ts';
import { makeApi, makeKey, makeOrganization, TIME } from '../support/world.ts';

const UNLIMITED = { quota: 10_000, windowMs: 1_000 };
const settings = { ipLimit: UNLIMITED, keyLimit: UNLIMITED };
type Api = ReturnType<typeof makeApi>;

let combinations = 0;
let sequences = 0;
let injected = 0;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  for (const level of ['warn', 'error'] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});
afterAll(() => {
  console.log(`${injected} faults injected and survived: ${combinations} combinations, ${sequences} random sequences`);
});

async function world() {
  const organization = await makeOrganization();
  const { value: key } = await makeKey(organization);
  return { organization, key };
}

/** One request, whatever becomes of it. Its text is its own. */
interface Write {
  kind: 'note' | 'time entry';
  idempotencyKey: string | undefined;
  text: string;
}

function send(
  api: Api,
  key: string,
  { kind, idempotencyKey, text }: Write,
  ticket = '1001',
  valid = true,
): Promise<Response> {
  // One address for all: each further one would be a further limiter object.
  const headers = {
    'CF-Connecting-IP': '192.0.2.1',
    ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
  };
  const extra = valid ? {} : { minutes: 0 };
  return kind === 'note'
    ? api.postNote(key, { message: text, ...extra }, headers, ticket)
    : api.postTime(key, { ...TIME, description: text, ...extra }, headers, ticket);
}

/**
 * What an answer claims. Anything that is not one of these, or is not said as the contract says it,
 * is thrown.
 */
type Claim =
  | { outcome: 'written' | 'replayed'; requestId: string; id: string }
  | { outcome: 'unavailable' | 'outcome_unknown' | 'internal_error' | 'rate_limited' | 'refused'; requestId: string };

async function claimOf(response: Response, repeatable: boolean): Promise<Claim> {
  const text = await response.text();
  expect(text).not.toMatch(/hunter2|SQLITE|D1_ERROR|insert into|overloaded|object|locked/i);
  const body: {
    note?: { id: string };
    entry?: { id: string };
    code?: string;
    detail?: string;
    idempotentReplay?: boolean;
  } = JSON.parse(text);
  const { status, headers } = response;
  const requestId = headers.get('X-Request-Id') ?? '';
  const retryAfter = headers.get('Retry-After');
  const id = (body.note ?? body.entry)?.id;
  if (id !== undefined) {
    const replayed = status === 200;
    expect([200, 201]).toContain(status);
    expect([retryAfter, headers.get('Idempotency-Replayed'), body.idempotentReplay]).toEqual(
      replayed ? [null, 'true', true] : [null, null, undefined],
    );
    return { outcome: replayed ? 'replayed' : 'written', requestId, id };
  }
  expect(body).toMatchObject({ status, requestId });
  switch (`${status} ${body.code}`) {
    case '503 unavailable':
      expect(retryAfter).toBe('5');
      expect(body.detail).toContain('Nothing was written');
      return { outcome: 'unavailable', requestId };
    case '503 outcome_unknown':
      expect(retryAfter).toBe(repeatable ? '5' : null);
      expect(body.detail).toContain(
        repeatable ? 'Send the same request with the same Idempotency-Key' : 'Check the ticket',
      );
      return { outcome: 'outcome_unknown', requestId };
    case '500 internal_error':
      expect(body).toEqual({
        type: '/docs/problems#internal_error',
        title: 'Internal error',
        status,
        code: 'internal_error',
        detail: 'An unexpected error occurred. If it persists, report the request id.',
        requestId,
      });
      return { outcome: 'internal_error', requestId };
    case '429 rate_limited':
      expect(Number(retryAfter)).toBeGreaterThanOrEqual(1);
      return { outcome: 'rate_limited', requestId };
    case '404 ticket_not_found':
    case '422 validation_failed':
      expect(retryAfter).toBeNull();
      return { outcome: 'refused', requestId };
    default:
      throw new Error(`an answer that must not be: ${status} ${text}`);
  }
}

interface StoredRecord {
  id: string;
  requestId: string;
  text: string;
}

/**
 * All records of an organization, in the order in which they were written. The audit log and its
 * numbers must agree with them.
 */
async function recordsOf(organization: string): Promise<StoredRecord[]> {
  const [found, { results }] = await Promise.all([
    inconsistencies(env.DB, organization),
    env.DB.prepare(
      `select id, request_id as requestId, message as text, audit_seq from notes where organization_id = ?1
       union all select id, request_id, description, audit_seq from time_entries where organization_id = ?1 order by audit_seq`,
    )
      .bind(organization)
      .all<StoredRecord>(),
  ]);
  expect(found).toEqual([]);
  return results;
}

/**
 * A claim against what is there: a written record is there once, of a refused request there is
 * none, of any other one at most.
 */
function expectTrue(claim: Claim, records: StoredRecord[]): void {
  const made = records.filter(({ requestId }) => requestId === claim.requestId);
  if (claim.outcome === 'written') expect(made).toMatchObject([{ id: claim.id }]);
  else if (claim.outcome === 'outcome_unknown' || claim.outcome === 'internal_error')
    expect(made.length).toBeLessThanOrEqual(1);
  else expect(made).toEqual([]);
}

// --- every single fault --------------------------------------------------------------------------

/** How often a call is made that fails each time in a way worth another try. */
const maxAttempts = (call: Call) => (call === 'read' || call === 'batch' ? 3 : 2);
const ALWAYS = Number.POSITIVE_INFINITY;
const TIMES = [1, 2, ALWAYS];

/** What the request would come to if nothing failed. */
type Errand = 'good' | 'replay' | 'unknown ticket' | 'invalid body';
const WITHOUT_FAULT = {
  good: 'written',
  replay: 'replayed',
  'unknown ticket': 'refused',
  'invalid body': 'refused',
} as const;

/**
 * Where a fault strikes: which call of which requests, beside which other fault that strikes
 * always.
 */
interface Point {
  name: string;
  call: Call;
  /**
   * Reads before the batch look up or confirm the key, the one behind it asks for what became of
   * the batch.
   */
  behindBatch?: boolean;
  faults: readonly Fault[];
  errand: Errand;
  warm: readonly boolean[];
  beside?: { call: Call; fault: Fault; times: number };
  /** What answer a fault leads to. */
  expected: (fault: Fault, times: number) => Claim['outcome'][];
}

const overcome = ({ says }: Fault, times: number) => says === 'transient' && times < maxAttempts('read');

/**
 * Before anything was sent that writes. What the database rejects may be answered with 500 or,
 * where it is only for now, with 503.
 */
const nothingSent = ({ says }: Fault): Claim['outcome'][] =>
  says === 'rejected' ? ['internal_error', 'unavailable'] : ['unavailable'];

const read = (expected: Claim['outcome']) => (fault: Fault, times: number) =>
  overcome(fault, times) ? [expected] : nothingSent(fault);

const limiter = ({ says }: Fault): Claim['outcome'][] => (says === 'overloaded' ? ['rate_limited'] : ['written']);

const batch =
  (errand: Errand) =>
  (fault: Fault, times: number): Claim['outcome'][] => {
    if (overcome(fault, times)) return [WITHOUT_FAULT[errand]];
    // Reads still do, and find what needs no write.
    if (fault.says === 'read_only') return [errand === 'good' ? 'unavailable' : WITHOUT_FAULT[errand]];
    if (fault.says === 'overloaded' || fault.says === 'rejected') return nothingSent(fault);
    // The answer of the batch is lost, and reading back finds a record or does not.
    if (errand === 'replay' || (errand === 'good' && fault.works === 'before')) return [WITHOUT_FAULT[errand]];
    return ['outcome_unknown'];
  };

const OVERLOADED = LIMITER_FAULTS.find(({ says }) => says === 'overloaded') ?? LOST;
const EITHER = [false, true];

const POINTS: Point[] = [
  {
    name: 'the limiter of the address',
    call: 'ip',
    faults: LIMITER_FAULTS,
    errand: 'good',
    warm: EITHER,
    expected: limiter,
  },
  {
    name: 'the limiter of the key',
    call: 'key',
    faults: LIMITER_FAULTS,
    errand: 'good',
    warm: EITHER,
    expected: limiter,
  },
  {
    name: 'the look-up of the key',
    call: 'read',
    faults: READ_FAULTS,
    errand: 'good',
    warm: [false],
    expected: read('written'),
  },
  {
    name: 'the look-up of the key, or its confirmation ahead of a refusal',
    call: 'read',
    faults: READ_FAULTS,
    errand: 'invalid body',
    warm: EITHER,
    expected: read('refused'),
  },
  {
    name: 'the look-up of the key, or its confirmation, its limiter overloaded',
    call: 'read',
    faults: READ_FAULTS,
    errand: 'good',
    warm: EITHER,
    beside: { call: 'key', fault: OVERLOADED, times: ALWAYS },
    expected: read('rate_limited'),
  },
  ...(['good', 'replay', 'unknown ticket'] as const).map((errand) => ({
    name: `the batch of a write (${errand})`,
    call: 'batch' as const,
    faults: errand === 'good' ? BATCH_FAULTS : READ_FAULTS,
    errand,
    warm: EITHER,
    expected: batch(errand),
  })),
  ...(['replay', 'unknown ticket'] as const).map((errand) => ({
    name: `the read that explains a write (${errand})`,
    call: 'read' as const,
    behindBatch: true,
    faults: READ_FAULTS,
    errand,
    warm: EITHER,
    expected: read(WITHOUT_FAULT[errand]),
  })),
  ...[
    { lost: LOST, lostTimes: ALWAYS },
    { lost: LOST_ACKNOWLEDGEMENT, lostTimes: ALWAYS },
    // Sent again, the batch finds nothing to insert.
    { lost: LOST_ACKNOWLEDGEMENT, lostTimes: 1 },
  ].map(({ lost, lostTimes }) => ({
    name: `the read that settles a write (${lost.name} ${lostTimes === ALWAYS ? 'always' : 'once'})`,
    call: 'read' as const,
    behindBatch: true,
    faults: READ_FAULTS,
    errand: 'good' as const,
    warm: EITHER,
    beside: { call: 'batch' as const, fault: lost, times: lostTimes },
    expected: (fault: Fault, times: number): Claim['outcome'][] =>
      overcome(fault, times) && lost.works === 'before' ? ['written'] : ['outcome_unknown'],
  })),
];

const KINDS = ['note', 'time entry'] as const;

describe.each(POINTS)('a fault of $name', ({ call, behindBatch = false, faults, errand, warm, beside, expected }) => {
  const situations = KINDS.flatMap((kind) =>
    (errand === 'replay' ? [true] : EITHER).flatMap((repeatable) =>
      warm.flatMap((isWarm) => TIMES.map((times) => ({ kind, repeatable, isWarm, times }))),
    ),
  );

  /**
   * Sends a request of its own in one situation, and once more without faults; returns all records
   * that are there then.
   */
  async function tryOne(
    { organization, key }: Awaited<ReturnType<typeof world>>,
    fault: Fault,
    { kind, repeatable, isWarm, times }: (typeof situations)[number],
    number: number,
    before: StoredRecord[],
  ): Promise<StoredRecord[]> {
    const write: Write = { kind, idempotencyKey: repeatable ? `k${number}` : undefined, text: `${number}` };
    const failing = new Faults();
    const api = makeApi({ config: settings, bindings: failing.bindings });
    if (isWarm) expect((await send(api, key, { ...write, idempotencyKey: undefined }, '9999')).status).toBe(404);
    if (errand === 'replay') expect((await send(makeApi({ config: settings }), key, write)).status).toBe(201);
    const known = errand === 'replay' ? await recordsOf(organization) : before;

    let met = 0;
    let metBeside = 0;
    let batches = 0;
    failing.choose = (now) => {
      if (now === 'batch') batches += 1;
      if (now === beside?.call && metBeside++ < beside.times) return beside.fault;
      if (now !== call || batches > 0 !== (behindBatch || call === 'batch') || met === times) return undefined;
      met += 1;
      return fault;
    };
    const [ticket, valid] = [errand === 'unknown ticket' ? '9999' : '1001', errand !== 'invalid body'];
    const claim = await claimOf(await send(api, key, write, ticket, valid), repeatable);
    // What was acknowledged is there by now, whatever comes later.
    if (claim.outcome === 'written') expectTrue(claim, await recordsOf(organization));
    await failing.end();

    expect(expected(fault, times)).toContain(claim.outcome);
    // A 500 is sent only after the key was read again.
    const confirmed = claim.outcome === 'internal_error' && met === 2 ? 1 : 0;
    expect(met - confirmed).toBe(fault.says === 'transient' ? Math.min(times, maxAttempts(call)) : 1);
    const after = await recordsOf(organization);
    expectTrue(claim, after);
    expect(after.filter(({ requestId }) => requestId !== claim.requestId)).toEqual(known);
    combinations += 1;
    injected += failing.injected;
    if (!repeatable) return after;

    const there = after.find(({ text }) => text === write.text);
    const repeated = await claimOf(await send(api, key, write), true);
    expect(repeated).toMatchObject(there ? { outcome: 'replayed', id: there.id } : { outcome: 'written' });
    const inTheEnd = await recordsOf(organization);
    expectTrue(repeated, inTheEnd);
    expect(inTheEnd.filter(({ text }) => text === write.text)).toHaveLength(1);
    return inTheEnd;
  }

  test.each(faults)(
    '$says: $name',
    async (fault) => {
      const place = await world();
      let records: StoredRecord[] = [];
      for (const [number, situation] of situations.entries()) {
        records = await tryOne(place, fault, situation, number, records).catch((err: unknown) => {
          throw new Error(`in the situation ${JSON.stringify(situation)}`, { cause: err });
        });
      }
    },
    120_000,
  );
});

// --- a few in a row, and at particular moments ---------------------------------------------------

describe('a write', () => {
  /** Sends a note whose calls meet these faults, one after the other, by kind of call. */
  async function sendAgainst(met: Partial<Record<Call, (Fault | undefined)[]>>) {
    const { organization, key } = await world();
    const failing = new Faults();
    failing.choose = (call) => met[call]?.shift();
    const response = await send(makeApi({ config: settings, bindings: failing.bindings }), key, {
      kind: 'note',
      idempotencyKey: undefined,
      text: 'x',
    });
    const claim = await claimOf(response, false);
    await failing.end();
    injected += failing.injected;
    return { claim, records: await recordsOf(organization) };
  }

  test('whose batch was committed and not acknowledged, then refused for overload: its outcome is unknown if it cannot be read back', async () => {
    const overloaded = READ_FAULTS.find(({ says }) => says === 'overloaded');
    const { claim, records } = await sendAgainst({
      batch: [LOST_ACKNOWLEDGEMENT, overloaded],
      read: [undefined, LOST, LOST, LOST],
    });
    expect(claim.outcome).toBe('outcome_unknown');
    expect(records).toHaveLength(1);
  });

  test('for which no time is left is not sent', async () => {
    const { organization, key } = await world();
    const failing = new Faults();
    const calls: Call[] = [];
    failing.choose = (call) => {
      calls.push(call);
      if (call === 'read') vi.setSystemTime(Date.now() + 8_000);
      return undefined;
    };
    const api = makeApi({ config: settings, bindings: failing.bindings });
    expect(
      (await claimOf(await send(api, key, { kind: 'note', idempotencyKey: undefined, text: 'x' }), false)).outcome,
    ).toBe('unavailable');
    expect(calls).toEqual(['ip', 'read', 'key']);
    expect(await recordsOf(organization)).toEqual([]);
  });
});

test('a ping is answered 503 unavailable when its key cannot be read', async () => {
  const { key } = await world();
  const failing = new Faults();
  failing.choose = (call) => (call === 'read' ? LOST : undefined);
  const response = await makeApi({ config: settings, bindings: failing.bindings }).send('/api/v1/ping', { key });
  expect((await claimOf(response, false)).outcome).toBe('unavailable');
});

// --- sequences of faults -------------------------------------------------------------------------

const faultsOf = (faults: readonly Fault[], maxLength: number) =>
  fc.array(fc.option(fc.constantFrom(...faults), { nil: undefined, freq: 3 }), { maxLength });

/**
 * Requests that are sent at once, and what the calls of all of them meet, one after the other, by
 * kind of call.
 */
const burst = fc.record({
  requests: fc.array(
    fc.record({
      kind: fc.constantFrom(...KINDS),
      idempotencyKey: fc.constantFrom(undefined, 'a', 'b', 'c'),
      isolate: fc.nat(1),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  ip: faultsOf(LIMITER_FAULTS, 2),
  key: faultsOf(LIMITER_FAULTS, 2),
  read: faultsOf(READ_FAULTS, 6),
  batch: faultsOf(BATCH_FAULTS, 6),
});

test('whatever the faults and their order: what was acknowledged is there once, and a repeat makes exactly one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(burst, { minLength: 3, maxLength: 8 }), async (bursts) => {
      const { organization, key } = await world();
      const failing = new Faults();
      const isolates = [0, 1].map(() => makeApi({ config: settings, bindings: failing.bindings }));
      const claims: { write: Write; claim: Claim }[] = [];
      let texts = 0;

      for (const { requests, ...met } of bursts) {
        failing.choose = (call) => met[call].shift();
        let answered = false;
        const answers = Promise.all(
          requests.map(async ({ kind, idempotencyKey, isolate }) => {
            // Repeats under a key say the same; everything else has a text of its own.
            const text = idempotencyKey === undefined ? `${++texts}` : `${kind} ${idempotencyKey}`;
            const write: Write = { kind, idempotencyKey, text };
            const response = await send(isolates[isolate] ?? makeApi(), key, write);
            claims.push({ write, claim: await claimOf(response, idempotencyKey !== undefined) });
          }),
        ).finally(() => {
          answered = true;
        });
        // Of requests at once, one may have used up the time that another one's fault has brought.
        while (!answered) {
          await realTime(20);
          if (!answered) vi.advanceTimersToNextTimer();
        }
        await answers;
      }
      await failing.end();
      injected += failing.injected;
      sequences += 1;

      const records = await recordsOf(organization);
      for (const { claim } of claims) expectTrue(claim, records);
      expect(await compareWithAcknowledged(env.DB, organization, acknowledgedBy(claims))).toMatchObject({
        missing: [],
      });

      for (const write of new Map(
        claims.filter(({ write }) => write.idempotencyKey).map(({ write }) => [write.text, write]),
      ).values()) {
        const there = records.find(({ text }) => text === write.text);
        const repeated = await claimOf(await send(makeApi({ config: settings }), key, write), true);
        expect(repeated).toMatchObject(there ? { outcome: 'replayed', id: there.id } : { outcome: 'written' });
      }
      await recordsOf(organization);
    }),
    { numRuns: runs('sequences of faults', 60), endOnFailure: true },
  );
}, 300_000);

/** The texts that were answered 200 or 201, by the ids of their records. */
function acknowledgedBy(claims: readonly { write: Write; claim: Claim }[]): Map<string, string> {
  return new Map(claims.flatMap(({ write, claim }) => ('id' in claim ? [[claim.id, write.text] as const] : [])));
}
