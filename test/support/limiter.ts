import { type RateLimitDecision, type RateLimitPolicy, SlidingWindowLog } from '../../src/domain/rate-limit.ts';
import type { RateLimiter } from '../../src/durable-objects/rate-limiter.ts';

type Namespace = DurableObjectNamespace<RateLimiter>;
type Take = () => Promise<RateLimitDecision>;

/** The namespace with every call passed through `around`, which is told the object's name and may fail the call or let it hang. */
export function aroundLimiters(
  namespace: Namespace,
  around: (take: Take, name: string) => Promise<RateLimitDecision>,
): Namespace {
  return new Proxy(namespace, {
    get(target, property) {
      if (property !== 'getByName') throw new Error(`aroundLimiters does not know ${String(property)}`);
      return (name: string) => ({
        take: (policy: RateLimitPolicy) => around(async () => target.getByName(name).take(policy), name),
      });
    },
  });
}

/** The namespace and the names of the objects that were called, as a growing list. */
export function countLimiters(namespace: Namespace): { namespace: Namespace; names: string[] } {
  const names: string[] = [];
  const counted = aroundLimiters(namespace, (take, name) => {
    names.push(name);
    return take();
  });
  return { namespace: counted, names };
}

/** A namespace whose objects answer each call with what `take` does: for limiters that hang, fail or are overloaded. */
export function brokenLimiters(namespace: Namespace, take: () => Promise<never>): Namespace {
  return aroundLimiters(namespace, take);
}

/** A namespace whose objects are plain logs in this isolate: thousands of them cost nothing. */
export function plainLimiters(namespace: Namespace): Namespace {
  const logs = new Map<string, SlidingWindowLog>();
  const getByName = (name: string) => {
    const log = logs.get(name) ?? new SlidingWindowLog();
    logs.set(name, log);
    return { take: async (policy: RateLimitPolicy) => log.take(policy, Date.now()) };
  };
  return new Proxy(namespace, { get: () => getByName });
}
