import { type Context, Hono, type HonoRequest, type Next } from 'hono';
import type * as z from 'zod/mini';
import { idempotencyMismatch } from '../../domain/errors.ts';
import { checkIdempotencyKey, IDEMPOTENCY_KEY_REMEDY } from '../../domain/idempotency-key.ts';
import { fromMinorUnits } from '../../domain/money.ts';
import { noteRequest, RECORD_KINDS, type RecordKind, timeEntryRequest } from '../../domain/record-kinds.ts';
import type { DryRunResult, NoteResult, ReplayFields, TimeEntryResult } from '../../domain/response-shapes.ts';
import type { WriteContext } from '../../services/service-context.ts';
import {
  createNote,
  createTimeEntry,
  dryRunNote,
  dryRunTimeEntry,
  type WriteOutcome,
  type WriteTarget,
} from '../../services/work/create-record.ts';
import { type ApiEnv, type AppEnv, type ContextOf, writeContext } from '../hono-env.ts';
import { receiveJson, validJson } from '../middleware/body.ts';
import { guard } from '../middleware/guard.ts';
import { appliedPreference, Problem } from '../problems.ts';

/** The services of a kind of record, and its response for a record that was created or found. */
interface RecordServices<Input, Row> {
  create: (ctx: WriteContext, target: WriteTarget, input: Input) => Promise<WriteOutcome<Row>>;
  dryRun: (ctx: WriteContext, target: WriteTarget, input: Input) => Promise<WriteOutcome<Row> | { workDate?: string }>;
  show: (row: Row) => NoteResult | TimeEntryResult;
}

/** The write of a kind of record, and its dry run. */
function recordRoutes<Input, Row extends { ticketId: string }>(
  kind: RecordKind,
  shape: z.ZodMiniType<Input>,
  { create, dryRun, show }: RecordServices<Input, Row>,
) {
  const { path, scope } = RECORD_KINDS[kind];
  return new Hono<AppEnv>()
    .post(`/tickets/:ticketId/${path}`, ...guard(scope), receiveJson, validJson(shape), async (c) => {
      const target = writeTarget(c);
      const outcome = await create(writeContext(c), target, c.req.valid('json'));
      return respondToWrite(c, target, outcome, show(outcome.row));
    })
    .post(
      `/tickets/:ticketId/${path}/dry-run`,
      ...guard(scope),
      markDryRun,
      receiveJson,
      validJson(shape),
      async (c) => {
        const target = writeTarget(c);
        return respondToDryRun(c, target, await dryRun(writeContext(c), target, c.req.valid('json')));
      },
    );
}

export const RECORD_ROUTES: Readonly<Record<RecordKind, Hono<AppEnv>>> = {
  note: recordRoutes('note', noteRequest, {
    create: createNote,
    dryRun: dryRunNote,
    show: ({ id, createdAt }) => ({ note: { id, createdAt: new Date(createdAt).toISOString() } }),
  }),
  time_entry: recordRoutes('time_entry', timeEntryRequest, {
    create: createTimeEntry,
    dryRun: dryRunTimeEntry,
    show: ({ id, minutes, workDate, status, billable, hourlyRateMinor, userId, agreementSource }) => ({
      entry: {
        id,
        minutes,
        workDate: midnight(workDate),
        status,
        billable: billable === 1,
        hourlyRate: fromMinorUnits(hourlyRateMinor),
        userId,
      },
      agreementSource,
    }),
  }),
};

/** A work date as the API shows it. */
const midnight = (day: string) => `${day}T00:00:00.000Z`;

/** Marks a request that writes nothing, for the log and for the key's page. The key has been checked. */
async function markDryRun(c: Context<ApiEnv>, next: Next): Promise<void> {
  c.get('requestStats').dryRun = true;
  await next();
}

/** A response without any field of a record: a dry run leaves no trace on the ticket, so it must not read one. */
function respondToDryRun(
  c: Context<ApiEnv>,
  target: WriteTarget,
  outcome: WriteOutcome<object> | { workDate?: string },
): Response {
  const applied = appliedPreference(c);
  const body: DryRunResult = { dryRun: true, ticketId: target.ticketId };
  if ('row' in outcome) {
    if (outcome.mismatch && 'Preference-Applied' in applied) throw idempotencyMismatch(target);
    body.idempotentReplay = true;
  } else if (outcome.workDate !== undefined) body.workDate = midnight(outcome.workDate);
  return c.json(body, 200, applied);
}

/** The ticket and Idempotency-Key of a write. @throws Problem `invalid_idempotency_key` */
function writeTarget(c: Pick<ContextOf<AppEnv>, 'get'> & { req: HonoRequest<'/:ticketId'> }): WriteTarget {
  const sent = c.req.header('Idempotency-Key');
  if (sent === undefined && c.req.header('X-Idempotency-Key') !== undefined) throw misnamedIdempotencyKey();
  const checked = checkIdempotencyKey(sent, c.get('config').keyPrefix);
  if (!checked.ok) throw invalidIdempotencyKey(checked.rule, checked.remedy);
  return { ticketId: c.req.param('ticketId'), idempotencyKey: checked.key };
}

/** The Idempotency-Key breaks a rule; `rule` completes the sentence "Idempotency-Key …". */
export function invalidIdempotencyKey(rule: string, remedy = IDEMPOTENCY_KEY_REMEDY): Problem {
  return new Problem('invalid_idempotency_key', `Idempotency-Key ${rule}; ${remedy}.`);
}

const misnamedIdempotencyKey = () =>
  new Problem(
    'invalid_idempotency_key',
    'X-Idempotency-Key has no effect here; send its value as Idempotency-Key, or omit the header.',
  );

/**
 * 201 for a new record; 200 for a replay, with whether the requests were the same. If they were not and the request
 * prefers strict handling, 409.
 */
function respondToWrite<Body extends object>(
  c: Context<ApiEnv>,
  target: WriteTarget,
  outcome: WriteOutcome<{ ticketId: string }>,
  body: Body,
): Response {
  const applied = appliedPreference(c);
  if (!outcome.replayed) return c.json(body, 201, applied);
  const { mismatch, row } = outcome;
  if (mismatch) c.set('lostWrite', target);
  if (mismatch && 'Preference-Applied' in applied) throw idempotencyMismatch(target, row.ticketId);
  const marks = { 'Idempotency-Replayed': 'true', ...(mismatch ? { 'Idempotency-Mismatch': 'true' } : {}) };
  const replay: ReplayFields = {
    idempotentReplay: true,
    ...(mismatch ? { idempotencyMismatch: true, ticketId: row.ticketId } : {}),
  };
  return c.json({ ...body, ...replay }, 200, { ...applied, ...marks });
}
