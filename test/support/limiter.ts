import type { RateLimiter } from '../../src/durable-objects/rate-limiter.ts';

type Namespace = DurableObjectNamespace<RateLimiter>;

/** The namespace with the names of the objects that were asked for, as a growing list: one for each call, since stubs are never kept. */
export function countLimiters(namespace: Namespace): { namespace: Namespace; names: string[] } {
  const names: string[] = [];
  const counted = new Proxy(namespace, {
    get(target, property) {
      if (property !== 'getByName') throw new Error(`countLimiters does not know ${String(property)}`);
      return (name: string) => {
        names.push(name);
        return target.getByName(name);
      };
    },
  });
  return { namespace: counted, names };
}

/** A namespace whose objects answer each call with what `take` does: for limiters that hang, fail or are overloaded. */
export function brokenLimiters(namespace: Namespace, take: () => Promise<never>): Namespace {
  return new Proxy(namespace, {
    get: (_, property) => {
      if (property !== 'getByName') throw new Error(`brokenLimiters does not know ${String(property)}`);
      return () => ({ take });
    },
  });
}
