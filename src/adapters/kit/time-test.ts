import { dateIn } from '../../domain/calendar.ts';
import type { Context } from './context.ts';
import { beforeWrites, PsaFault, type PsaTime, type Shown, unlessGone } from './psa.ts';
import { backoffMs, type Credited, headsIn, pendingOf, save, stateOf } from './store.ts';
import { isOwn, PublicNote, SETTLED_MS, type Task } from './writer.ts';

const MINUTE_MS = 60_000;

/** An entry of the test that the PSA may have. Without an id, its create was sent. */
interface TestEntry {
  record: PsaTime;
  psaId?: string;
  /** When no create of it can still take place. */
  settledAt: number;
}

/** A record that waits for its test, and its technician, whom the test credits. */
interface Request {
  id: string;
  userId: string;
}

/** The PSA does not take a minute of this technician. The next test is that of another record. */
export class RefusedTest extends PsaFault {}

const creditedOf = (kv: SyncKvStorage, userId: string): Credited =>
  userId === kv.get('serviceUser') ? 'service' : 'technician';

/** What the result is about: the account, and the variables that decide what time costs. */
const testedAs = ({ kv, psa }: Context) => JSON.stringify([kv.get('tested'), psa.name, psa.time.settings]);

/** Whether a record may be written. New time waits until the test of such time has succeeded, which is the next thing to do. */
export function mayWriteTime(ctx: Context, { record, mayCreate }: Task): boolean {
  const { kv } = ctx;
  if (record.kind !== 'time_entry' || !mayCreate || kv.get('unread') === record.id) return true;
  const credited = creditedOf(kv, record.userId);
  if (kv.get(`timeTested/${credited}`) === testedAs(ctx)) return true;
  const pending = pendingOf(kv, record.id);
  if (pending) save(kv, { ...pending, credited });
  kv.put<Request>(`timeToTest/${credited}`, { id: record.id, userId: record.userId });
  return false;
}

const isWaiting = (kv: SyncKvStorage, credited: Credited) =>
  Array.from(headsIn(kv).values()).some((pending) => pending.mayCreate && pending.credited === credited);

/** Whether such time is to be tested: after the connection test, and when every note was read back. */
export const isTimeTestDue = (kv: SyncKvStorage, credited: Credited) =>
  kv.get('tested') !== undefined &&
  kv.get('unread') === undefined &&
  (kv.get(`timeToTest/${credited}`) !== undefined ||
    kv.get(`testEntry/${credited}`) !== undefined ||
    // Nothing waits any longer for a test that failed.
    (stateOf(kv, `timeTest/${credited}`).failure !== undefined && !isWaiting(kv, credited)));

/**
 * Writes a minute on the test ticket, first one that is not billable and then a billable one, credited as the time that
 * waits. Reads each back field by field, looks for it, and removes it.
 * @throws PsaFault naming the technician, the field that differs or the right that is missing, and the repair
 */
export async function testTime(ctx: Context, credited: Credited): Promise<void> {
  const { kv, settings } = ctx;
  let technician = '';
  try {
    // A test was cut off.
    await removeTestEntry(ctx, credited);
    const request = kv.get<Request>(`timeToTest/${credited}`);
    if (!request) return;
    technician = ` for technician ${request.userId}`;
    for (const billable of [false, true]) await testEntry(ctx, credited, request.userId, billable);
    kv.put(`timeTested/${credited}`, testedAs(ctx));
    kv.delete(`timeToTest/${credited}`);
  } catch (err) {
    if (technician !== '') stepBack(ctx, credited);
    if (err instanceof PsaFault)
      err.message = `Time entries wait for their test on ticket ${settings.TEST_TICKET}${technician}: ${err.message}`;
    throw err;
  }
}

/** The technician of a record may be why its test failed, so the next record asks for a test with its own technician. */
function stepBack({ kv, world }: Context, credited: Credited): void {
  const request = kv.get<Request>(`timeToTest/${credited}`);
  const pending = request && pendingOf(kv, request.id);
  kv.delete(`timeToTest/${credited}`);
  if (pending)
    save(kv, { ...pending, dueAt: world.now() + backoffMs(pending.attempts), attempts: pending.attempts + 1 });
}

async function testEntry(ctx: Context, credited: Credited, userId: string, billable: boolean): Promise<void> {
  const { psa, send, kv, world } = ctx;
  const record = testRecord(ctx, userId, billable);
  const sendStored = beforeWrites(send, () =>
    kv.put<TestEntry>(`testEntry/${credited}`, { record, settledAt: world.now() + SETTLED_MS }),
  );
  const created = await withAdvice(ctx, 'create', psa.create(sendStored, record)).catch((err: unknown) => {
    if (err instanceof PsaFault && err.outcome !== 'unknown') kv.delete(`testEntry/${credited}`);
    throw err instanceof PsaFault && err.outcome === 'refused' ? new RefusedTest(err.outcome, err.message, err) : err;
  });
  const found = await withAdvice(ctx, 'read', psa.find(send, record));
  const psaId = created ?? found[0]?.psaId;
  if (psaId === undefined) throw new PsaFault('later', `The new entry was not found. ${psa.time.rights.read}`);
  kv.put<TestEntry>(`testEntry/${credited}`, { record, psaId, settledAt: 0 });
  const shown = await withAdvice(ctx, 'read', psa.read(send, record, psaId));
  await removeTestEntry(ctx, credited);
  requireAsSent(ctx, record, shown, found);
}

/** Its id is random, so no other record has its mark. */
function testRecord({ settings, world }: Context, userId: string, billable: boolean): PsaTime {
  // Not every PSA keeps seconds.
  const at = Math.floor(world.now() / MINUTE_MS) * MINUTE_MS;
  const id = crypto.randomUUID();
  return {
    ...{ kind: 'time_entry', id, mark: `[twb:${id}]`, ticketId: settings.TEST_TICKET, text: 'Time test' },
    ...{ createdAt: new Date(at).toISOString(), workDate: dateIn(settings.TIME_ZONE, at) },
    ...{ userId, minutes: 1, billable, awaitsDecision: false },
  };
}

function requireAsSent(ctx: Context, record: PsaTime, shown: Shown, found: Shown[]): void {
  if (!shown.isPrivate)
    throw new PublicNote(
      `Customers could see the test of time on ticket ${record.ticketId}. It is removed, and nothing more is written.`,
    );
  const what = record.billable ? 'Of billable time' : 'Of time that is not billable';
  const wrong = shown.fields.filter(({ expected, got }) => expected !== got);
  const sentences = wrong.map(({ name, expected, got, repair }) => `${name} is ${got}, not ${expected}. ${repair}`);
  if (sentences.length > 0) throw new PsaFault('later', `${what}, ${sentences.join(' ')}`);
  if (!found.some((one) => one.psaId === shown.psaId && isOwn(ctx, record, one, true)))
    throw new PsaFault(
      'later',
      `${what}, the list of time entries does not show its technician, date and minutes. ${ctx.psa.time.rights.read}`,
    );
}

/** Removes the entry of a test, even if a person has changed it. @throws PsaFault */
async function removeTestEntry(ctx: Context, credited: Credited): Promise<void> {
  const { psa, send, kv, world } = ctx;
  const entry = kv.get<TestEntry>(`testEntry/${credited}`);
  if (!entry) return;
  const { record, psaId, settledAt } = entry;
  const retryAfterMs = settledAt - world.now();
  if (retryAfterMs > 0) throw new PsaFault('later', 'An earlier request may still take place.', { retryAfterMs });
  const find = async () =>
    ((await unlessGone(withAdvice(ctx, 'read', psa.find(send, record)))) ?? []).map(({ psaId }) => psaId);
  for (const id of psaId === undefined ? await find() : [psaId])
    await unlessGone(withAdvice(ctx, 'remove', psa.remove(send, record, id)));
  const [left] = await find();
  if (left !== undefined) throw new PsaFault('later', `Entry ${left} is still there. ${psa.time.rights.remove}`);
  kv.delete(`testEntry/${credited}`);
}

/** What `run` returns. If it is refused or denied, the fault names the rights that this step needs. */
const withAdvice = <T>({ psa }: Context, step: keyof typeof psa.time.rights, run: Promise<T>): Promise<T> =>
  run.catch((err: unknown) => {
    if (err instanceof PsaFault && ['denied', 'refused'].includes(err.outcome))
      err.message = `${err.message}. ${psa.time.rights[step]}`;
    throw err;
  });
