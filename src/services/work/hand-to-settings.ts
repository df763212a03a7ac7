import type * as z from 'zod';
import { findWaitingForPsa, handToSettings } from '../../db/work/record-statements.ts';
import { findApprover } from '../../db/work/time-queue-statements.ts';
import { directoryId } from '../../domain/directory.ts';
import { errorOf } from '../../domain/errors.ts';
import { freeText, lazyObject } from '../../domain/fields.ts';
import { bySystem, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import { query } from '../call-d1.ts';
import { parseInput } from '../parse-input.ts';
import { forNextCall, type SystemContext } from '../service-context.ts';
import { organizationNotFound } from './require-cursor.ts';

const handOverRequest = lazyObject(() => ({
  organization: directoryId('an organization'),
  by: freeText(100),
}));

/** Each takes two of the 1,000 statements that an invocation may send. */
const CHUNK = 200;

/**
 * Hands the time that waits for a decision of the PSA to the settings area, each entry with an audit row, after the
 * organization's directory has said that its new time is decided there. Continues where an earlier call ended. Returns how
 * many entries it handed over.
 * @throws ServiceError `invalid`, `organization_not_found`, `approved_in_psa`, `being_erased`
 */
export async function handTimeToSettings(
  ctx: SystemContext,
  request: z.input<typeof handOverRequest>,
): Promise<number> {
  const { organization, by } = parseInput(handOverRequest, request);
  const [found] = await query(ctx, 'nothing_written', (db) => findApprover(db, organization));
  if (!found) throw organizationNotFound(organization);
  if (found.approvals === 'psa') throw errorOf('approved_in_psa');
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
