import * as z from 'zod/mini';
import { findRefusedRequests, type RefusedRequestRow } from '../../db/keys/refused-request-statements.ts';
import { exceededDayLimitShape } from '../../domain/day-limit.ts';
import { KEPT_OF_KEY } from '../../domain/refused-request.ts';
import { allowsRefused, type SettingsThatRefuse } from '../../domain/refused-use.ts';
import { parseStored } from '../../domain/stored-json.ts';
import { query } from '../call-d1.ts';
import { type AdminContext, type ExportPage, forNextCall } from '../service-context.ts';

/** A refused request. Times are UTC milliseconds. */
export type RefusedRequest = ReturnType<typeof toRefusedRequest>;

interface RefusedFilter {
  keyId?: string | undefined;
  requestId?: string | undefined;
  ticketId?: string | undefined;
  status?: number | undefined;
  /** Only the latest request of each key and reason that refused uses do not count, with how many are kept. */
  byReason?: boolean;
  /** Only requests that arrived before this one. */
  before?: string | undefined;
}

/** How many reasons of keys a page shows. */
const MAX_REASONS = 100;

/** The latest refused requests of the organization, a page of them: as many as are kept of one key, or of reasons. */
export const listRefusedRequests = (ctx: AdminContext, filter: RefusedFilter = {}) =>
  // An id has one request.
  readPage(ctx, filter, filter.requestId === undefined);

/** The refused requests of the organization that are kept, newest first, a page at a time. */
export async function* everyRefusedRequest(
  ctx: AdminContext,
  filter: RefusedFilter,
): AsyncGenerator<ExportPage<RefusedRequest>> {
  let { before } = filter;
  do {
    const { requests, next } = await readPage(forNextCall(ctx), { ...filter, before }, false);
    before = next;
    yield { items: requests, next };
  } while (before !== undefined);
}

async function readPage(ctx: AdminContext, filter: RefusedFilter, hasMinimum: boolean) {
  const { organizationId } = ctx.actor;
  const size = filter.byReason ? MAX_REASONS : KEPT_OF_KEY;
  const rows = await query(ctx, 'nothing_written', (db) =>
    findRefusedRequests(db, { organizationId, ...filter, hasMinimum, limit: size + 1 }),
  );
  const requests = rows.slice(0, size).map(toRefusedRequest);
  return { requests, next: rows.length > size ? requests.at(-1)?.requestId : undefined };
}

const pointersShape = z.lazy(() => z.array(z.string()));

function toRefusedRequest({ pointers, ...row }: RefusedRequestRow) {
  const { key, ...request } = withRefusedKey(row);
  return {
    ...request,
    key,
    pointers: pointers === null ? [] : parseStored(pointersShape, pointers, `refused request ${request.requestId}`),
  };
}

interface RefusedKeyRow extends SettingsThatRefuse {
  keyId: string;
  keyName: string;
  keyHint: string;
  keyRevokedAt: number | null;
  keySuccessorId: string | null;
  reason: string;
  sourceAddress: string | null;
  companyId: string | null;
  dayLimit: string | null;
}

/** A refusal with its key and limit, and whether the key's settings now allow what was refused. */
export function withRefusedKey<Row extends RefusedKeyRow>(row: Row) {
  const { keyId, keyName, keyHint, keyRevokedAt, keySuccessorId, dayLimit: stored, ...refusal } = row;
  const dayLimit = stored === null ? null : parseStored(exceededDayLimitShape(), stored, `a refusal of key ${keyId}`);
  return {
    ...refusal,
    dayLimit,
    key: { id: keyId, name: keyName, hint: keyHint, isRevoked: keyRevokedAt !== null, successorId: keySuccessorId },
    isAllowedNow: allowsRefused(row, { ...row, dayLimit }),
  };
}
