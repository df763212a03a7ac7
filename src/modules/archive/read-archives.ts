import { type ArchiveRow, findArchivesAfter } from '../../db/work/archives.ts';
import { timeOfId } from '../../domain/record-id.ts';
import {
  type AuditFilter,
  CLOCK_SKEW_MS,
  LONGEST_REQUEST_MS,
  searchedIds,
} from '../../services/audit/read-audit-log.ts';
import { readAll, readOne } from '../../services/call-d1.ts';
import type { AdminContext, ReadLines } from '../../services/service-context.ts';
import { findArchivesAbout, findArchivesOfPeriod } from './archive-statements.ts';
import type { ArchiveContext } from './bucket.ts';
import { readLines } from './segment.ts';

// The archived part of the audit log, as administrators see it.

export const LISTED_ARCHIVES = 50;

/** The archives that may have entries of a period, the newest first, at most `LISTED_ARCHIVES`. */
export async function listArchives(
  ctx: AdminContext,
  { since, until }: Pick<AuditFilter, 'since' | 'until'>,
): Promise<ArchiveRow[]> {
  const values = {
    organizationId: ctx.actor.organizationId,
    since: since === undefined ? null : since - CLOCK_SKEW_MS,
    until: until === undefined ? null : until + CLOCK_SKEW_MS,
    limit: LISTED_ARCHIVES,
  };
  return readAll(ctx, findArchivesOfPeriod.bind(values));
}

/** For a record id or an Idempotency-Key; of a request id only the time is known. */
export async function searchArchives(ctx: AdminContext, text: string): Promise<ArchiveRow[]> {
  const values = await searchedIds(ctx.actor.organizationId, text);
  if (!values) return [];
  const results = await readAll(ctx, findArchivesAbout.bind(values));
  const receivedAt = timeOfId(values.id);
  if (results.length > 0 || receivedAt === undefined) return results;
  return listArchives(ctx, { since: receivedAt, until: receivedAt + LONGEST_REQUEST_MS });
}

export async function readOwnArchive(
  ctx: AdminContext & ArchiveContext,
  toSeq: number,
): Promise<({ fromSeq: number } & ReadLines) | undefined> {
  const { organizationId } = ctx.actor;
  const found = await readOne(ctx, findArchivesAfter.bind({ organizationId, seq: toSeq - 1, limit: 1 }));
  return found?.toSeq === toSeq ? { fromSeq: found.fromSeq, ...(await readLines(ctx, found)) } : undefined;
}
