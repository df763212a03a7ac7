import { instant, optionalInstant } from '../domain/change.ts';
import { FAILING_MS } from '../domain/facts.ts';

interface Connection {
  reportedAt: number;
  failingSince: number | null;
  failure: string | null;
  stoppedAt: number | null;
}

export const CONNECTED = 'connected';

/** Whether an adapter reaches its PSA, by its last report. */
export function connectionState({ reportedAt, failingSince, failure, stoppedAt }: Connection, now: number): string {
  if (stoppedAt !== null) return `STOPPED since ${instant(stoppedAt)}`;
  if (failure !== null) return `failing since ${optionalInstant(failingSince)}`;
  return reportedAt <= now - FAILING_MS ? `silent since ${instant(reportedAt)}` : CONNECTED;
}
