import {
  BATCH_FAULTS,
  type Call,
  type Fault,
  LIMITER_FAULTS,
  LOST,
  LOST_ACKNOWLEDGEMENT,
  READ_FAULTS,
} from './faults.ts';
import type { Claim } from './writes.ts';

/** Kinds of requests, with their outcome if nothing fails. */
const WITHOUT_FAULT = {
  good: 'written',
  replay: 'replayed',
  'unknown ticket': 'refused',
  'invalid body': 'refused',
} as const;
type RequestKind = keyof typeof WITHOUT_FAULT;

export const ALWAYS = Number.POSITIVE_INFINITY;

/** A call of a request that fails, and the outcome that the failure leads to. */
interface Point {
  name: string;
  call: Call;
  /**
   * Reads before the batch look up or confirm the key. The read after it finds out what became of
   * the batch.
   */
  afterBatch?: boolean;
  faults: readonly Fault[];
  request: RequestKind;
  /** Whether the key is cached: one of these. */
  cached: readonly boolean[];
  /** Another fault that this request meets, this many times. */
  otherFault?: { call: Call; fault: Fault; times: number };
  /** The outcomes that are right if the call fails this many times in a row. */
  expected: (fault: Fault, times: number) => Claim['outcome'][];
}

/** How often a call is made if each attempt fails with a transient fault. */
export const maxAttempts = (call: Call) => ({ near: 1, read: 3, batch: 3, ip: 2, key: 2 })[call];

const isOvercome = ({ kind }: Fault, times: number) => kind === 'transient' && times < maxAttempts('read');

/** Before a write was sent. What the database rejects is our fault (500), or temporary (503). */
const nothingSent = ({ kind }: Fault): Claim['outcome'][] =>
  kind === 'rejected' ? ['internal_error', 'unavailable'] : ['unavailable'];

const read = (expected: Claim['outcome']) => (fault: Fault, times: number) =>
  isOvercome(fault, times) ? [expected] : nothingSent(fault);

const limiter = ({ kind }: Fault): Claim['outcome'][] => (kind === 'overloaded' ? ['rate_limited'] : ['written']);

const batch =
  (request: RequestKind) =>
  (fault: Fault, times: number): Claim['outcome'][] => {
    if (isOvercome(fault, times)) return [WITHOUT_FAULT[request]];
    // Reads still work, and find what needs no write.
    if (fault.kind === 'read_only') return [request === 'good' ? 'unavailable' : WITHOUT_FAULT[request]];
    if (fault.kind === 'overloaded' || fault.kind === 'rejected') return nothingSent(fault);
    // The result of the batch is lost. Reading back finds the record, or does not.
    if (request === 'replay' || (request === 'good' && fault.runs === 'before')) return [WITHOUT_FAULT[request]];
    return ['outcome_unknown'];
  };

const OVERLOADED = LIMITER_FAULTS.find(({ kind }) => kind === 'overloaded') ?? LOST;
const EITHER = [false, true];
const limiters = { faults: LIMITER_FAULTS, request: 'good' as const, cached: EITHER, expected: limiter };
const lookup = { call: 'read' as const, faults: READ_FAULTS };

export const POINTS: Point[] = [
  { name: 'the limiter of the address', call: 'ip', ...limiters },
  { name: 'the limiter of the key', call: 'key', ...limiters },
  {
    name: 'the lookup of the key in the nearest copy',
    ...lookup,
    call: 'near',
    request: 'good',
    cached: [false],
    // The primary is next.
    expected: () => ['written'],
  },
  {
    name: 'the lookup of the key in the primary, after the nearest copy failed',
    ...lookup,
    request: 'good',
    cached: [false],
    otherFault: { call: 'near', fault: LOST, times: ALWAYS },
    expected: read('written'),
  },
  {
    name: 'the lookup of the key, or its confirmation before a refusal',
    ...lookup,
    request: 'invalid body',
    cached: EITHER,
    expected: read('refused'),
  },
  {
    name: 'the lookup of the key, or its confirmation, while its limiter is overloaded',
    ...lookup,
    request: 'good',
    cached: EITHER,
    otherFault: { call: 'key', fault: OVERLOADED, times: ALWAYS },
    expected: read('rate_limited'),
  },
  ...(['good', 'replay', 'unknown ticket'] as const).map((request) => ({
    name: `the batch of a write (${request})`,
    call: 'batch' as const,
    faults: request === 'good' ? BATCH_FAULTS : READ_FAULTS,
    request,
    cached: EITHER,
    expected: batch(request),
  })),
  ...(['replay', 'unknown ticket'] as const).map((request) => ({
    name: `the read that explains a write (${request})`,
    ...lookup,
    afterBatch: true,
    request,
    cached: EITHER,
    expected: read(WITHOUT_FAULT[request]),
  })),
  ...[
    { fault: LOST, times: ALWAYS },
    { fault: LOST_ACKNOWLEDGEMENT, times: ALWAYS },
    // The retry of the batch finds nothing to insert.
    { fault: LOST_ACKNOWLEDGEMENT, times: 1 },
  ].map(({ fault: lost, times: lostTimes }) => ({
    name: `the read after a write whose batch was lost ${lostTimes === ALWAYS ? 'always' : 'once'}${lost.runs ? ' after its commit' : ''}`,
    ...lookup,
    afterBatch: true,
    request: 'good' as const,
    cached: EITHER,
    otherFault: { call: 'batch' as const, fault: lost, times: lostTimes },
    expected: (fault: Fault, times: number): Claim['outcome'][] =>
      isOvercome(fault, times) && lost.runs === 'before' ? ['written'] : ['outcome_unknown'],
  })),
];
