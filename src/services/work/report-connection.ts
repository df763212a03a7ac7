import * as z from 'zod/mini';
import { organizationRange } from '../../db/fact-statements.ts';
import { findConnections, saveConnection } from '../../db/work/connections.ts';
import { directoryId } from '../../domain/directory.ts';
import { flag, freeText, lazyObject, ruleError, strictObject } from '../../domain/fields.ts';
import { query } from '../call-d1.ts';
import { parseInput } from '../parse-input.ts';
import type { ServiceContext } from '../service-context.ts';
import { organizationNotFound } from './require-cursor.ts';

/** What is wrong, for administrators. */
export interface ConnectionFailure {
  reason: string;
  /** Whether the adapter writes nothing, or only tries, until a person resumes it or a record succeeds. */
  isStopped: boolean;
}

const connectionReport = lazyObject(() => ({
  organization: directoryId('an organization'),
  adapterId: z.uuid({ error: ruleError('a UUID') }),
  failure: z.nullable(strictObject({ reason: freeText(300), isStopped: flag() })),
  takesOver: flag(),
  psaName: z.optional(freeText(100)),
}));

/**
 * Records how an adapter is connected with the PSA of its organization: the facts and the alerts show a
 * failure; null is none. `connected_elsewhere`: another adapter has reported before, and this one may write only if it
 * takes over. The settings area shows the name of the PSA.
 * @throws ServiceError `invalid`, `organization_not_found`
 */
export async function reportConnection(
  ctx: ServiceContext,
  request: z.input<typeof connectionReport>,
): Promise<{ status: 'recorded' | 'connected_elsewhere' }> {
  const {
    organization: organizationId,
    adapterId,
    failure,
    takesOver,
    psaName = null,
  } = parseInput(connectionReport, request);
  const state = { failure: failure?.reason ?? null, isStopped: failure?.isStopped ?? false };
  const report = { organizationId, adapterId, ...state, takesOver, psaName, now: ctx.now() };
  const saved = await query(ctx, 'safe_to_repeat', (db) => saveConnection(db, report));
  if (saved.meta.changes > 0) return { status: 'recorded' };
  const reported = await query(ctx, 'nothing_written', (db) => findConnections(db, organizationRange(organizationId)));
  if (reported.length > 0) return { status: 'connected_elsewhere' };
  throw organizationNotFound(organizationId);
}
