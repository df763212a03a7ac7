import { type DayLimits, dayLimitsSentence } from './day-limit.ts';
import { type RequestLimit, requestLimitInWords } from './request-limit.ts';

export interface Limits {
  keyLimit: RequestLimit;
  ipLimit: RequestLimit;
  dayLimits: DayLimits;
}

/** The limits of a deployment as a text, the same in the documentation and at /healthz. */
export function limitsInWords({ keyLimit, ipLimit, dayLimits }: Limits): string {
  const requests = `${requestLimitInWords(keyLimit)} per key, unless the key has its own limit, and ${requestLimitInWords(ipLimit)} per source address.`;
  return `${requests} ${dayLimitsSentence(dayLimits)}`.trim();
}
