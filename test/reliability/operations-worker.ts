import * as z from 'zod';
import { ServiceError } from '../../src/domain/errors.ts';
import { timeOrderedId } from '../../src/domain/record-id.ts';
import { APPROVAL_DECISIONS, RECORD_KIND_NAMES } from '../../src/domain/record-kinds.ts';
import type { SystemContext } from '../../src/services/service-context.ts';
import { listChanges } from '../../src/services/work/list-changes.ts';
import { redactRecord } from '../../src/services/work/record-services.ts';
import { decideTime } from '../../src/services/work/time-queue.ts';
import { administratorContext } from '../support/administrator-context.ts';
import { eraseOrganization } from '../support/erase-organization.ts';

// A Worker beside the production bundle, in the same workerd and with the same database. It does what a PSA
// an operator and an administrator do.

const operation = z.object({
  organization: z.string(),
  do: z.enum(['redact', 'review', 'decide', 'erase']),
  kind: z.enum(RECORD_KIND_NAMES).default('note'),
  id: z.string().default(''),
  /** For the decision of an administrator. */
  ids: z.array(z.string()).default([]),
  decision: z.enum(APPROVAL_DECISIONS).default('APPROVED'),
  administrator: z.string().default(''),
});
export type Operation = z.input<typeof operation>;

/** Few rows in each transaction of an erasure, so that a kill hits the middle of one. */
const ERASED_ROWS = 20;

/** Failures that a repetition does not change, such as a record that does not exist. */
const isFinal = ({ code }: ServiceError) => code !== 'unavailable' && code !== 'not_exported';

export default {
  async fetch(request: Request, env: { DB: D1Database }): Promise<Response> {
    try {
      return Response.json(await run(operation.parse(await request.json()), env));
    } catch (err) {
      if (!(err instanceof ServiceError)) throw err;
      return Response.json({ status: err.code }, { status: isFinal(err) ? 422 : 503 });
    }
  },
};

async function run(
  { organization, do: what, kind, id, ids, decision, administrator }: z.output<typeof operation>,
  { DB: db }: { DB: D1Database },
): Promise<object> {
  const ctx = (): SystemContext => ({
    db,
    now: Date.now,
    deadlineAt: Date.now() + 20_000,
    requestId: timeOrderedId(Date.now()),
    actor: 'psa',
    source: { address: null, userAgent: null },
  });
  const lastCursor = async () => {
    let cursor: string | null = null;
    for (let more = true; more; ) ({ cursor, more } = await listChanges(ctx(), { organization, cursor }));
    return cursor;
  };
  switch (what) {
    case 'redact':
      return redactRecord(ctx(), { organization, kind, id, by: 'Ada' });
    case 'review': {
      const { done } = await decideTime(administratorContext(db, organization, 'fay'), [id], 'APPROVED');
      return { status: done.length === 0 ? 'unchanged' : 'APPROVED' };
    }
    case 'decide':
      return decideTime(administratorContext(db, organization, administrator), ids, decision, 'No');
    case 'erase': {
      // An erasure that was begun needs no cursor.
      const cursor = await lastCursor().catch(() => null);
      return { removed: await eraseOrganization(ctx(), { organization, cursor, by: 'Ada' }, ERASED_ROWS) };
    }
  }
}
