import type { ArchiveRow } from '../../db/work/archives.ts';
import { timeOfId } from '../../domain/record-id.ts';
import {
  type AuditFilter,
  CLOCK_SKEW_MS,
  LONGEST_REQUEST_MS,
  searchedIds,
} from '../../services/audit/read-audit-log.ts';
import { readAll, readOne } from '../../services/call-d1.ts';
import type { ActorContext, AdminActor } from '../../services/service-context.ts';
import { readArchive } from './archive-file.ts';
import { findArchive, findArchivesAbout, findArchivesOfPeriod } from './archive-statements.ts';
import type { ArchiveContext } from './bucket.ts';

// The archived part of the audit log, as administrators see it.

export type { ArchiveRow } from '../../db/work/archives.ts';

/** How many archives a page lists. */
export const LISTED_ARCHIVES = 50;

/** The archives that may have entries of a period, the newest first, at most `LISTED_ARCHIVES`. */
export async function listArchives(
  ctx: ActorContext<AdminActor>,
  { since, until }: Pick<AuditFilter, 'since' | 'until'>,
): Promise<ArchiveRow[]> {
  const values = {
    organizationId: ctx.actor.organizationId,
    since: since === undefined ? null : since - CLOCK_SKEW_MS,
    until: until === undefined ? null : until + CLOCK_SKEW_MS,
    limit: LISTED_ARCHIVES,
  };
  const results = await readAll(ctx, findArchivesOfPeriod.bind(values));
  return results;
}

/**
 * The archives that have the record with this id or Idempotency-Key. Of a request id only its time is
 * known: those that have entries of it.
 */
export async function searchArchives(ctx: ActorContext<AdminActor>, text: string): Promise<ArchiveRow[]> {
  const values = await searchedIds(ctx.actor.organizationId, text);
  if (!values) return [];
  const results = await readAll(ctx, findArchivesAbout.bind(values));
  const receivedAt = timeOfId(values.id);
  if (results.length > 0 || receivedAt === undefined) return results;
  return listArchives(ctx, { since: receivedAt, until: receivedAt + LONGEST_REQUEST_MS });
}

/** The lines of the archive that ends with this `seq`, as one text; undefined if there is none. */
export async function readOwnArchive(
  ctx: ActorContext<AdminActor> & ArchiveContext,
  toSeq: number,
): Promise<{ fromSeq: number; text: string } | undefined> {
  const values = { organizationId: ctx.actor.organizationId, toSeq };
  const found = await readOne(ctx, findArchive.bind(values));
  return found ? { fromSeq: found.fromSeq, text: await readArchive(ctx, found) } : undefined;
}
