import {
  AdmissionLog,
  type LimiterDecision,
  type RequestLimit,
  type SubnetLimit,
} from '../../src/domain/request-limit.ts';
import type { RateLimiter } from '../../src/durable-objects/rate-limiter.ts';

type Namespace = DurableObjectNamespace<RateLimiter>;
type Take = () => Promise<LimiterDecision>;

/**
 * The namespace with every call passed through `around`, which gets the object's name and the limits, and may fail the
 * call, let it hang or answer it.
 */
export function aroundLimiters(
  namespace: Namespace,
  around: (
    take: Take,
    name: string,
    requestLimit: RequestLimit,
    subnet: SubnetLimit | undefined,
  ) => Promise<LimiterDecision>,
): Namespace {
  return new Proxy(namespace, {
    get(target, property) {
      if (property !== 'getByName') throw new Error(`aroundLimiters does not know ${String(property)}`);
      return (name: string) => ({
        take: (requestLimit: RequestLimit, subnet?: SubnetLimit) =>
          around(async () => target.getByName(name).take(requestLimit, subnet), name, requestLimit, subnet),
      });
    },
  });
}

/** The namespace, and a growing list of the names of the objects that were called. */
export function countLimiters(namespace: Namespace): { namespace: Namespace; names: string[] } {
  const names: string[] = [];
  const counted = aroundLimiters(namespace, (take, name) => {
    names.push(name);
    return take();
  });
  return { namespace: counted, names };
}

/**
 * Limiters in the memory of one app instead of Durable Objects, which make a database for each address and key. There is
 * no pause between two downloads of an organization, which most tests do not wait for.
 */
export function limitersInMemory(namespace: Namespace): Namespace {
  const admitted = { admitted: true, remaining: 0, resetMs: 0, retryAfterMs: 0 };
  const logs = new Map<string, AdmissionLog>();
  return aroundLimiters(namespace, async (_take, name, requestLimit, subnet) => {
    if (name.startsWith('export:')) return admitted;
    const log = logs.get(name) ?? new AdmissionLog();
    logs.set(name, log);
    return log.take(requestLimit, Date.now(), subnet);
  });
}
