import { AUDIT_ROWS } from '../../db/audit/audit-row.ts';
import type { Database, Statement } from '../../db/query.ts';
import { type CountedRecord, countRecord } from '../../db/work/key-days.ts';
import type { AuditAction } from '../../domain/audit-actions.ts';
import type { RecordKind } from '../../domain/record-kinds.ts';
import { type CallEffect, sendBatch } from '../call-d1.ts';
import type { AdminContext, AuditTarget, ServiceContext, SystemContext } from '../service-context.ts';

/** One change: its statement, and its entry in the audit log. */
export interface AuditedChange<Row = unknown> {
  statement: Statement<Row>;
  action: AuditAction;
  /** What it changes; or the ids of those that it may change, each of which gets an entry if it does. */
  targetId: string | { kind: keyof (typeof AUDIT_ROWS)['user']['ofEach']; ids: readonly string[] };
  /** An id, or the ticket of the target, which is a record of this kind. */
  ticket?: { id: string } | { of: RecordKind };
  idempotencyKey?: string | undefined;
  /** What was changed, in words, if the action alone does not say it. */
  detail?: string | undefined;
  /** For a new record: what the daily ledger counts. The actor is its key. */
  counted?: Pick<CountedRecord, 'chainId' | 'day' | 'minutes' | 'bytes'> & { kind: RecordKind };
  /** A statement after the audit row, for `changes() = 1` if that was written. */
  completion?: Statement;
}

/**
 * Sends changes as one transaction, each followed by its audit row, which is written if and only if the change changed
 * a row, and by its count in the daily ledger if it is a new record. A change may require that the previous one did
 * (`changes() = 1`). Calls `changes` again for each attempt, with the time of that attempt. Returns one result per
 * change. Calls `ctx.changed` after a change. If the response is lost, the push job finds the change.
 */
export async function writeWithAudit<Row>(
  ctx: ServiceContext,
  { organizationId, actor, source }: AuditTarget,
  effect: CallEffect,
  changes: (db: Database, now: number) => readonly AuditedChange<Row>[],
): Promise<D1Result<Row>[]> {
  let positions: number[] = [];
  const results = await sendBatch(ctx, effect, (db) => {
    const now = ctx.now();
    const origin = {
      organizationId,
      now,
      actorId: actor.id,
      actorName: actor.type === 'system' ? actor.name : '',
      requestId: ctx.requestId,
      sourceAddress: source.address,
      userAgent: source.userAgent,
    };
    const statements: Statement<Row>[] = [];
    positions = [];
    for (const { statement, ticket, action, targetId, ...change } of changes(db, now)) {
      const { idempotencyKey = null, detail = null, counted, completion } = change;
      const rows = AUDIT_ROWS[actor.type];
      const ofOne = ticket && 'of' in ticket ? rows.ofRecord[ticket.of] : rows.given;
      const [auditRow, target] =
        typeof targetId === 'string' ? [ofOne, targetId] : [rows.ofEach[targetId.kind], JSON.stringify(targetId.ids)];
      const ticketId = ticket && 'id' in ticket ? ticket.id : null;
      const added = { day: counted?.day ?? null, records: counted ? 1 : 0, bytes: counted?.bytes ?? 0 };
      positions.push(statements.length);
      statements.push(
        statement,
        auditRow(db, { ...origin, ...added, action, targetId: target, ticketId, idempotencyKey, detail }),
      );
      if (counted) statements.push(countRecord[counted.kind](db, { ...origin, ...counted, keyId: actor.id }));
      if (completion) statements.push(completion);
    }
    return statements;
  });
  const ofChanges = results.filter((_, index) => positions.includes(index));
  if (ofChanges.some(hasChanged)) ctx.changed?.(organizationId);
  return ofChanges;
}

export function hasChanged(result: D1Result<unknown> | undefined): boolean {
  return result !== undefined && result.meta.changes > 0;
}

export function byAdministrator({ actor, source }: AdminContext): AuditTarget {
  return { organizationId: actor.organizationId, actor: { type: 'user', id: actor.userId }, source };
}

/** The target of a change by the PSA's software or an operator. `by` names who asked for it. */
export function bySystem({ actor, source }: SystemContext, organizationId: string, by: string): AuditTarget {
  return { organizationId, actor: { type: 'system', id: actor, name: by }, source };
}
