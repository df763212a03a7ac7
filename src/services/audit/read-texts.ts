import { findTexts } from '../../db/work/texts.ts';
import { readAll } from '../call-d1.ts';
import type { ActorContext, AdminActor } from '../service-context.ts';
import type { AuditEntry } from './read-audit-log.ts';

/**
 * The texts of the records that audit entries are about, by their id: the first `length` characters
 * of each, or "[redacted]".
 */
export async function readTexts(
  ctx: ActorContext<AdminActor>,
  entries: readonly AuditEntry[],
  length: number,
): Promise<Map<string, string>> {
  const ids = entries.filter(({ ticketId }) => ticketId !== null).map(({ targetId }) => targetId);
  if (ids.length === 0) return new Map();
  const values = { organizationId: ctx.actor.organizationId, ids: JSON.stringify([...new Set(ids)]), length };
  const results = await readAll(ctx, findTexts.bind(values));
  return new Map(results.map(({ id, text }) => [id, text]));
}
