import { type KeyRules, lifetimeDays } from '../../domain/key-rules.ts';
import type { KeyDetails } from './read-keys.ts';
import { isUnused } from './select-keys.ts';

/** What a reviewer should check about a key. It never decides. */
export type ReviewCheck = 'unused' | 'former_creator' | 'never_expires' | 'long_lifetime';

/** What to check about a live key: without I/O. */
export function reviewChecks(key: KeyDetails, rules: KeyRules, timeZone: string, now: number): ReviewCheck[] {
  const { createdAt, expiresAt, creatorActive } = key;
  const longest = rules.maxLifetimeDays ?? Number.POSITIVE_INFINITY;
  const found: Record<ReviewCheck, boolean> = {
    unused: isUnused(key, rules.unusedDays, now),
    former_creator: !creatorActive,
    never_expires: rules.expiryRequired && expiresAt === null,
    long_lifetime: expiresAt !== null && lifetimeDays(expiresAt, timeZone, createdAt) > longest,
  };
  const checks: readonly ReviewCheck[] = ['unused', 'former_creator', 'never_expires', 'long_lifetime'];
  return checks.filter((check) => found[check]);
}
