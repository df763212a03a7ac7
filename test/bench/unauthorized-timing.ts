import { generateKey } from '../../src/domain/api-key.ts';
import { Connection } from './connection.ts';
import { KEY_PREFIX } from './limits.ts';
import { shuffled } from './rounds.ts';
import { postTimeEntry } from './scenarios.ts';
import { makeKeys } from './seed.ts';
import { cliffsDelta, median } from './statistics.ts';
import type { Workers } from './workers.ts';

const KEYS_PER_CAUSE = 64;
const WARM_UP_ROUNDS = 300;

export interface CauseTiming {
  cause: string;
  samples: number;
  /** Milliseconds. */
  median: number;
  /** Against the unknown key: -1 to 1, and 0 if neither tends to be slower. */
  cliffsDelta: number;
}

/**
 * How long the 401 takes for each cause, one request at a time, the causes in a new random order in
 * each round. The second series of unknown keys is the yardstick: what differs no more than it does
 * cannot be told apart.
 */
export async function timeUnauthorized(workers: Workers, samples: number): Promise<CauseTiming[]> {
  const db = await workers.database();
  const inTurn = (values: readonly string[]) => (round: number) => values[round % values.length] ?? '';
  // As many as of each other cause, so that what is tried again is as warm in all caches.
  const unknown = () => inTurn(Array.from({ length: KEYS_PER_CAUSE }, () => generateKey(KEY_PREFIX)));
  const oneOf = async (standing: 'revoked' | 'expired' | 'wrong_scope') =>
    inTurn((await makeKeys(db, KEYS_PER_CAUSE, standing)).map(({ value }) => value));
  const causes = [
    { cause: 'unknown', key: unknown() },
    { cause: 'unknown, second series', key: unknown() },
    { cause: 'revoked', key: await oneOf('revoked') },
    { cause: 'expired', key: await oneOf('expired') },
    { cause: 'scope missing', key: await oneOf('wrong_scope') },
  ].map((one) => ({ ...one, times: [] as number[] }));

  const connection = await Connection.open(await workers.origin('api'));
  try {
    for (let round = -WARM_UP_ROUNDS; round < samples; round++) {
      for (const { cause, key, times } of shuffled(causes)) {
        const request = postTimeEntry(0, key(Math.abs(round)), 'refused');
        const begun = performance.now();
        const { status } = await connection.send(request);
        const ms = performance.now() - begun;
        if (status !== 401) throw new Error(`a key whose cause is "${cause}" was answered ${status}`);
        if (round >= 0) times.push(ms);
      }
    }
  } finally {
    connection.close();
  }
  const reference = causes[0]?.times ?? [];
  return causes.map(({ cause, times }) => ({
    cause,
    samples: times.length,
    median: median(times),
    cliffsDelta: cliffsDelta(times, reference),
  }));
}
