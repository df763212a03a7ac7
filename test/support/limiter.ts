import { type RateLimitPolicy, SlidingWindowLog } from '../../src/domain/rate-limit.ts';
import type { RateLimiter } from '../../src/durable-objects/rate-limiter.ts';

type Namespace = DurableObjectNamespace<RateLimiter>;

/** The namespace, with `onCall` told the name of each object before it is called: stubs are never kept, so a name is a call. */
export function aroundLimiters(namespace: Namespace, onCall: (name: string) => void): Namespace {
  return new Proxy(namespace, {
    get(target, property) {
      if (property !== 'getByName') throw new Error(`aroundLimiters does not know ${String(property)}`);
      return (name: string) => {
        onCall(name);
        return target.getByName(name);
      };
    },
  });
}

/** The namespace and the names of the objects that were called, as a growing list. */
export function countLimiters(namespace: Namespace): { namespace: Namespace; names: string[] } {
  const names: string[] = [];
  return { namespace: aroundLimiters(namespace, (name) => names.push(name)), names };
}

/** A namespace whose objects answer each call with what `take` does: for limiters that hang, fail or are overloaded. */
export function brokenLimiters(namespace: Namespace, take: () => Promise<never>): Namespace {
  return new Proxy(namespace, { get: () => () => ({ take }) });
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
