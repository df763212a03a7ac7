import type { Scope } from '../../domain/scopes.ts';
import { authenticate } from './authenticate.ts';
import { keyLimit } from './key-limit.ts';
import { requirePlan } from './require-plan.ts';

// The order of the checks. The IP limit comes before all of them, in app.ts. A later check never
// responds before the earlier ones have passed: a 429 per key or a 403 before the scope check would
// reveal that the key exists.

/**
 * Key, scope, key limit and plan, for every endpoint. Without a scope, any live key is admitted.
 */
export const guard = (scope?: Scope) => [authenticate(scope), keyLimit(), requirePlan()] as const;

/**
 * Key and key limit, for unknown paths: only holders of a live key learn that they do not exist.
 */
export const guardUnknown = () => [authenticate(), keyLimit()] as const;
