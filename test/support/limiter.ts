import type { LimiterDecision, SubnetLimit } from '../../src/domain/admission-log.ts';
import type { RequestLimit } from '../../src/domain/request-limit.ts';
import type { RateLimiter } from '../../src/durable-objects/rate-limiter.ts';

type Namespace = DurableObjectNamespace<RateLimiter>;
type Take = () => Promise<LimiterDecision>;

/**
 * The namespace with every call passed through `around`, which gets the object's name and may fail
 * the call or let it hang.
 */
export function aroundLimiters(
  namespace: Namespace,
  around: (take: Take, name: string) => Promise<LimiterDecision>,
): Namespace {
  return new Proxy(namespace, {
    get(target, property) {
      if (property !== 'getByName') throw new Error(`aroundLimiters does not know ${String(property)}`);
      return (name: string) => ({
        take: (requestLimit: RequestLimit, subnet?: SubnetLimit) =>
          around(async () => target.getByName(name).take(requestLimit, subnet), name),
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

/** The namespace without the pause between two downloads of an organization, which most tests do not wait for. */
export function withoutDownloadPauses(namespace: Namespace): Namespace {
  const admitted = { admitted: true, remaining: 0, resetMs: 0, retryAfterMs: 0 };
  return aroundLimiters(namespace, async (take, name) => (name.startsWith('export:') ? admitted : take()));
}
