import * as z from 'zod/mini';
import { organizationRange } from '../../db/fact-statements.ts';
import { findConnections } from '../../db/work/connections.ts';
import { findWaitingForPsa, handToSettings } from '../../db/work/record-statements.ts';
import { findApprover } from '../../db/work/time-queue-statements.ts';
import { directoryId } from '../../domain/directory.ts';
import { errorOf } from '../../domain/errors.ts';
import { FAILING_MS } from '../../domain/facts.ts';
import { flag, freeText, lazyObject } from '../../domain/fields.ts';
import { bySystem, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { query } from '../call-d1.ts';
import { parseInput } from '../parse-input.ts';
import { forNextCall, type SystemContext } from '../service-context.ts';
import { organizationNotFound } from './require-cursor.ts';

const handOverRequest = lazyObject(() => ({
  organization: directoryId('an organization'),
  by: freeText(100),
  /** Whether the adapter may still report, because its PSA no longer approves time. */
  adapterStays: z._default(flag(), false),
}));

/** Each takes two of the 1,000 statements that an invocation may send. */
const CHUNK = 200;

/**
 * Hands the time that waits for a decision of the PSA to the settings area, each entry with an audit row, after the
 * organization's directory has said that its new time is decided there. Continues where an earlier call ended. Returns how
 * many entries it handed over.
 * @throws ServiceError `invalid`, `organization_not_found`, `approved_in_psa`, `adapter_reports`, `being_erased`
 */
export async function handTimeToSettings(
  ctx: SystemContext,
  request: z.input<typeof handOverRequest>,
): Promise<number> {
  const { organization, by, adapterStays } = parseInput(handOverRequest, request);
  const [found] = await query(ctx, 'nothing_written', (db) => findApprover(db, organization));
  if (!found) throw organizationNotFound(organization);
  if (found.approvals === 'psa') throw errorOf('approved_in_psa');
  if (!adapterStays && (await hasReported(ctx, organization))) throw errorOf('adapter_reports');
  for (let handed = 0; ; ) {
    const call = forNextCall(ctx);
    const waiting = await query(call, 'nothing_written', (db) => findWaitingForPsa(db, organization, CHUNK));
    if (waiting.length === 0) return handed;
    const results = await writeWithAudit(call, bySystem(ctx, organization, by), 'safe_to_repeat', (db) =>
      waiting.map(({ id }) => ({
        statement: handToSettings(db, organization, id),
        action: 'time_entry.handed_over',
        targetId: id,
        ticket: { of: 'time_entry' },
      })),
    );
    handed += results.filter(hasChanged).length;
    // The directory was changed back, or the PSA has decided meanwhile.
    if (!results.some(hasChanged)) return handed;
  }
}

/** Whether an adapter reported lately: until it is removed, it may change the directory back, or bring a decision of its PSA. */
async function hasReported(ctx: SystemContext, organization: string): Promise<boolean> {
  const connections = await query(ctx, 'nothing_written', (db) => findConnections(db, organizationRange(organization)));
  return connections.some(({ reportedAt }) => reportedAt > ctx.now() - FAILING_MS);
}
