import type { Scope } from '../domain/api-key.ts';
import { authenticate } from './middleware/authenticate.ts';
import { keyLimit } from './middleware/key-limit.ts';
import { requirePlan } from './middleware/require-plan.ts';

// The order of the checks, written once. The IP limit stands before all of them, in app.ts. A later check never answers before an earlier
// one has passed: a per-key 429 or a 403 ahead of the scope check would tell a prober that the key exists.

/** Key, scope, per-key limit, plan: what every endpoint begins with. Without a scope any live key will do. */
export const guard = (scope?: Scope) => [authenticate(scope), keyLimit(), requirePlan()] as const;

/** Key and per-key limit only: for addresses that do not exist, which a good key may learn and nobody else. */
export const guardUnknown = () => [authenticate(), keyLimit()] as const;
