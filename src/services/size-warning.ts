import { type Fullness, fullnessAt } from '../domain/database-limit.ts';
import { log } from '../lib/log.ts';

const LEVELS = { normal: 'log', nearly_full: 'warn', almost_full: 'error' } as const satisfies Record<Fullness, string>;

/** Logs the size of the database; how full it is decides the level. */
export function logSize({ bytes, share }: { bytes: number; share: number }, requestId?: string): void {
  log(LEVELS[fullnessAt(share)], 'database_size', { requestId, bytes, share: Number(share.toFixed(4)) });
}
