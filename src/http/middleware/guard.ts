import type { Scope } from '../../domain/scopes.ts';
import { authenticate } from './authenticate.ts';
import { keyLimit } from './key-limit.ts';
import { requirePlan } from './require-plan.ts';

// The order of the checks, written once. The IP limit comes before all of them, in app.ts. A later check never answers before an earlier
// one has passed: a per-key 429 or a 403 ahead of the scope check would tell a prober that the key exists.

/** Key, scope, per-key limit, plan: the start of every endpoint. Without a scope any live key is admitted. */
export const guard = (scope?: Scope) => [authenticate(scope), keyLimit(), requirePlan()] as const;

/** Key and per-key limit only: for addresses that do not exist, which only the holder of a live key may learn. */
export const guardUnknown = () => [authenticate(), keyLimit()] as const;
