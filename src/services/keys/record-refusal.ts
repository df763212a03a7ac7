import {
  addRefusedRequest,
  keepLatestRefusedRequests,
  type RefusedRequestValues,
} from '../../db/keys/refused-request-statements.ts';
import { addRefusedUses } from '../../db/keys/refused-use-statements.ts';
import { dayLimitId, type ExceededDayLimit } from '../../domain/day-limit.ts';
import type { KeyReference } from '../../domain/errors.ts';
import { KEPT_OF_KEY } from '../../domain/refused-request.ts';
import type { LostWrite, RefusedUseReason } from '../../domain/refused-use.ts';
import { sendBatch } from '../call-d1.ts';
import type { ServiceContext } from '../service-context.ts';

/** Uses of a key to add to their count. */
export interface NewRefusedUses {
  reason: RefusedUseReason;
  count: number;
  sourceAddress: string | null;
  lost?: readonly LostWrite[];
  /** UTC milliseconds, for a daily limit. */
  endsAt?: number | null;
  /** For `daily_limit_reached`: each limit has its count. */
  dayLimit?: ExceededDayLimit | null;
}

/** A refused request to add to the log. */
export interface NewRefusedRequest extends Omit<RefusedRequestValues, keyof KeyReference | 'pointers' | 'dayLimit'> {
  pointers: readonly string[];
  dayLimit: ExceededDayLimit | null;
}

/** What to record of one request. */
export interface Refusal {
  uses?: NewRefusedUses | undefined;
  request?: NewRefusedRequest | undefined;
}

/** Adds refused uses to their count, and a refused request to the log, of which it keeps `KEPT_OF_KEY` of the key. */
export async function recordRefusal(
  ctx: ServiceContext,
  { organizationId, keyId }: KeyReference,
  { uses, request }: Refusal,
): Promise<void> {
  const of = { organizationId, keyId };
  const now = ctx.now();
  await sendBatch(ctx, 'may_have_written', (db) => [
    ...(uses ? [addRefusedUses(db, { ...of, ...usesRow(uses), now })] : []),
    ...(request
      ? [
          addRefusedRequest(db, { ...of, ...requestRow(request) }),
          keepLatestRefusedRequests(db, { ...of, keep: KEPT_OF_KEY }),
        ]
      : []),
  ]);
}

const usesRow = ({ lost = [], endsAt = null, dayLimit = null, ...uses }: NewRefusedUses) => ({
  ...uses,
  lostWrites: jsonOrNull(lost),
  endsAt,
  limitId: dayLimit === null ? '' : dayLimitId(dayLimit),
  dayLimit: dayLimit && JSON.stringify(dayLimit),
});

const requestRow = ({ pointers, dayLimit, ...request }: NewRefusedRequest) => ({
  ...request,
  pointers: jsonOrNull(pointers),
  dayLimit: dayLimit && JSON.stringify(dayLimit),
});

const jsonOrNull = (list: readonly unknown[]) => (list.length === 0 ? null : JSON.stringify(list));
