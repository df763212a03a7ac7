import { dateIn } from '../../domain/calendar.ts';
import type { Context } from './context.ts';
import { beforeWrites, PsaFault, type PsaTime, type Shown, unlessGone } from './psa.ts';
import { isOwn, PublicNote, SETTLED_MS, type Task } from './writer.ts';

/** An entry of the test that the PSA may have. Without an id, its create was sent. */
interface TestEntry {
  record: PsaTime;
  psaId?: string;
  /** When no create of it can still take place. */
  settledAt: number;
}

/** Where the result is: crediting others can need more rights than crediting the account of automations. */
const resultKey = (kv: SyncKvStorage, userId: string) =>
  `timeTested/${userId === kv.get('serviceUser') ? 'service' : 'technician'}`;

/** What the result is about: the account, and the variables that decide what time costs. */
const testedAs = ({ kv, psa }: Context) => JSON.stringify([kv.get('tested'), psa.name, psa.time.settings]);

/** Whether a record may be written. New time waits until its test has succeeded, which then is the next thing to do. */
export function mayWriteTime(ctx: Context, { record, mayCreate }: Task): boolean {
  const { kv } = ctx;
  if (record.kind !== 'time_entry' || !mayCreate || kv.get('unread') === record.id) return true;
  if (kv.get(resultKey(kv, record.userId)) === testedAs(ctx)) return true;
  kv.put('timeToTest', record.userId);
  return false;
}

/** Whether time is to be tested: after the connection test, and when every note was read back. */
export const isTimeTestDue = (kv: SyncKvStorage) =>
  (kv.get('timeToTest') !== undefined || kv.get('testEntry') !== undefined) &&
  kv.get('tested') !== undefined &&
  kv.get('unread') === undefined;

/**
 * Writes a minute on the test ticket, first one that is not billable and then a billable one, credited as the time that
 * waits. Reads each back field by field, looks for it, and removes it.
 * @throws PsaFault naming the field that differs or the right that is missing, and the repair
 */
export async function testTime(ctx: Context): Promise<void> {
  const { kv, settings } = ctx;
  try {
    // A test was cut off.
    await removeTestEntry(ctx);
    const userId = kv.get<string>('timeToTest');
    if (userId === undefined) return;
    for (const billable of [false, true]) await testEntry(ctx, userId, billable);
    kv.put(resultKey(kv, userId), testedAs(ctx));
    kv.delete('timeToTest');
  } catch (err) {
    if (err instanceof PsaFault)
      err.message = `Time entries wait for their test on ticket ${settings.TEST_TICKET}: ${err.message}`;
    throw err;
  }
}

async function testEntry(ctx: Context, userId: string, billable: boolean): Promise<void> {
  const { psa, send, kv, world } = ctx;
  const record = testRecord(ctx, userId, billable);
  const sendStored = beforeWrites(send, () =>
    kv.put<TestEntry>('testEntry', { record, settledAt: world.now() + SETTLED_MS }),
  );
  const created = await withAdvice(ctx, 'create', psa.create(sendStored, record)).catch((err: unknown) => {
    if (err instanceof PsaFault && err.outcome !== 'unknown') kv.delete('testEntry');
    throw err;
  });
  const found = await withAdvice(ctx, 'read', psa.find(send, record));
  const psaId = created ?? found[0]?.psaId;
  if (psaId === undefined) throw new PsaFault('later', 'the new entry was not found');
  kv.put<TestEntry>('testEntry', { record, psaId, settledAt: 0 });
  const shown = await withAdvice(ctx, 'read', psa.read(send, record, psaId));
  await removeTestEntry(ctx);
  requireAsSent(ctx, record, shown, found);
}

/** Its id is random, so no other record has its mark. */
function testRecord({ settings, world }: Context, userId: string, billable: boolean): PsaTime {
  // Not every PSA keeps fractions of a second.
  const at = Math.floor(world.now() / 1_000) * 1_000;
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
    throw new PsaFault('later', 'The list of time entries does not show it, its technician, date and minutes.');
}

/** Removes the entry of a test, whoever has changed it. @throws PsaFault */
async function removeTestEntry(ctx: Context): Promise<void> {
  const { psa, send, kv, world } = ctx;
  const entry = kv.get<TestEntry>('testEntry');
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
  kv.delete('testEntry');
}

/** What `run` returns. Its fault names the rights that this step needs, if one may be missing. */
const withAdvice = <T>({ psa }: Context, step: keyof typeof psa.time.rights, run: Promise<T>): Promise<T> =>
  run.catch((err: unknown) => {
    if (err instanceof PsaFault && err.outcome === 'denied') err.message = `${err.message}. ${psa.time.rights[step]}`;
    throw err;
  });
