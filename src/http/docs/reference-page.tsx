import { type DayLimits, dayLimitsSentence } from '../../domain/day-limit.ts';
import { policyInWords, type RateLimitPolicy } from '../../domain/rate-limit.ts';
import { Page } from './layout.tsx';

interface ReferenceProps {
  origin: string;
  /** The limits of this deployment. */
  limits: { keyLimit: RateLimitPolicy; ipLimit: RateLimitPolicy; dayLimits: DayLimits };
}

export function Reference({ origin, limits }: ReferenceProps) {
  return (
    <Page title="Reference" path="/docs/reference">
      <p>
        All paths begin with <code>{`${origin}/api/v1`}</code>. The same reference is available as an{' '}
        <a href="/api/v1/openapi.json">OpenAPI 3.1 document</a>.
      </p>
      <p>
        Limits: {policyInWords(limits.keyLimit)} per key, unless the key has its own limit, and{' '}
        {policyInWords(limits.ipLimit)} per source address. {dayLimitsSentence(limits.dayLimits)}
      </p>
    </Page>
  );
}
