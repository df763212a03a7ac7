import type { Context } from './context.ts';
import {
  beforeWrites,
  PsaFault,
  type PsaRecord,
  partsOf,
  type Shown,
  type TimeField,
  unlessGone,
  wholeText,
} from './psa.ts';
import { REQUEST_DEADLINE_MS } from './send.ts';
import { awaitDecision, type Written } from './store.ts';

/** So long after it was sent, a create that was cut off has taken place or never will. */
export const SETTLED_MS = 2 * REQUEST_DEADLINE_MS;
/** What tells our time entry from another one with its mark. */
const IDENTITY = ['technician', 'date', 'minutes'];

/** Customers could see a note. It is removed, and nothing more is written. */
export class PublicNote extends Error {}
type PublicRecord = Pick<PsaRecord, 'id' | 'kind' | 'ticketId'> & { psaId: string };

/** An earlier create of the record may still take place. */
export class NotSettled extends PsaFault {
  readonly settledAt: number;

  constructor(settledAt: number, retryAfterMs: number) {
    super('later', 'An earlier request may still take place.', { retryAfterMs });
    this.settledAt = settledAt;
  }
}

/** A record to write, as it is now. */
export interface Task {
  record: PsaRecord;
  /** Whether its text has to be replaced. */
  isRedaction: boolean;
  mayCreate: boolean;
}

/**
 * Writes a record with all of its parts, each at most once. A redaction replaces the text of those that the PSA has, even if
 * the PSA refuses to change another one.
 * @throws PsaFault, PublicNote
 */
export async function writeRecord(ctx: Context, { record, isRedaction, mayCreate }: Task): Promise<void> {
  const { psa, send } = ctx;
  const parts = isRedaction && record.kind !== 'note' ? [record, wholeText(record)] : partsOf(record, psa.maxTimeText);
  const faults: PsaFault[] = [];
  for (const part of parts)
    try {
      const psaId = await ensure(ctx, part, isRedaction ? mayCreate && part === record : true);
      if (isRedaction && psaId !== undefined) await unlessGone(psa.redact(send, part, psaId));
    } catch (err) {
      if (!isRedaction || !(err instanceof PsaFault)) throw err;
      faults.push(err);
    }
  // A part that failed otherwise is tried again.
  const fault = faults.find(({ outcome }) => outcome !== 'refused') ?? faults[0];
  if (fault) throw fault;
}

/**
 * Returns the id of a record in the PSA, and creates it if it is not there. That a create is sent is stored before. If one
 * was sent, only the PSA knows whether it took place: when no call can still be running, the adapter looks for the mark.
 */
export async function ensure(ctx: Context, record: PsaRecord, mayCreate: boolean): Promise<string | undefined> {
  const { kv, world } = ctx;
  const written = kv.get<Written>(`written/${record.id}`);
  if (written?.psaId !== undefined) return written.isRead ? written.psaId : readBack(ctx, record, written.psaId);
  // Another adapter may have written records that are older.
  if (written || !mayCreate || Date.parse(record.createdAt) < (kv.get<number>('lookBefore') ?? 0)) {
    const { settledAt = 0 } = written ?? {};
    if (settledAt > world.now()) throw new NotSettled(settledAt, settledAt - world.now());
    const hasBegun = settledAt > 0;
    const found = await findOwn(ctx, record, hasBegun);
    if (found && hasBegun) return readBack(ctx, record, found.psaId);
    if (found?.isPrivate) return keep(ctx, record, found.psaId);
    // What no create of ours preceded is never removed.
    if (found)
      throw new PublicNote(
        `Customers could see time entry ${found.psaId} on ticket ${record.ticketId}. Hide or remove it there: nothing more is written.`,
      );
  }
  if (!mayCreate) return undefined;
  return readBack(ctx, record, await createOnce(ctx, record));
}

/**
 * The record that has its mark and is ours.
 * @throws PsaFault if only time that differs has its mark: a person may have corrected it
 */
async function findOwn(ctx: Context, record: PsaRecord, hasBegun: boolean): Promise<Shown | undefined> {
  const { kv, psa, send } = ctx;
  const found = (await unlessGone(psa.find(send, record))) ?? [];
  const own = found.filter((one) => isOwn(ctx, record, one, hasBegun));
  const ids = own.map(({ psaId }) => psaId);
  const other = record.kind === 'time_entry' && own.length === 0 && found.find(mayBeTime);
  if (other) {
    kv.put<Written>(`written/${record.id}`, kv.get<Written>(`written/${record.id}`) ?? { settledAt: 0 });
    throw differing(other);
  }
  if (ids.length > 1) console.error(JSON.stringify({ event: 'record_twice', record: record.id, found: ids }));
  // The one that was just created.
  return own.at(-1);
}

/** What a customer wrote has no minutes. */
const mayBeTime = ({ isPrivate, fields }: Shown) =>
  isPrivate || fields.some(({ name, got }) => name === 'minutes' && got !== '0');

const isOther = ({ name, expected, got }: TimeField) => IDENTITY.includes(name) && expected !== got;

/** It is about this record only, so it pauses no others. */
function differing({ psaId, fields }: Shown): PsaFault {
  const others = fields.filter(isOther).map(({ name, expected, got }) => `${name} is ${got}, not ${expected}`);
  const reason = `Time entry ${psaId} has its mark, but its ${others.join(', ')}`;
  return new PsaFault('refused', reason, { status: 409 });
}

/**
 * Whether a record with the mark is ours: anyone who knows its Idempotency-Key can write such a mark. `hasBegun`: our create
 * may have written it, and customers could see that.
 */
export function isOwn(
  { kv }: Context,
  { kind }: PsaRecord,
  { author, isPrivate, fields }: Shown,
  hasBegun: boolean,
): boolean {
  if (kind === 'time_entry') return !fields.some(isOther);
  // Only the connection test, whose mark is random, is written before it has shown the account.
  const isKnown = kv.get('tested') === undefined || authorsIn(kv).includes(author);
  return isKnown && (hasBegun || isPrivate);
}

/** The accounts that connection tests have shown: of the adapter now, and before its keys were replaced. */
export const authorsIn = (kv: SyncKvStorage) => kv.get<string[]>('authors') ?? [];

async function createOnce(ctx: Context, record: PsaRecord): Promise<string> {
  const { psa, send, kv, world } = ctx;
  // What precedes the request that creates it can take minutes.
  const sendStored = beforeWrites(send, () =>
    kv.put<Written>(`written/${record.id}`, { settledAt: world.now() + SETTLED_MS }),
  );
  const psaId = await psa.create(sendStored, record).catch((err: unknown) => {
    // The PSA has certainly not created it, so the next attempt need not look for it.
    if (err instanceof PsaFault && err.outcome !== 'unknown') kv.delete(`written/${record.id}`);
    throw err;
  });
  const found = psaId ?? (await findOwn(ctx, record, true))?.psaId;
  if (found === undefined) throw new PsaFault('unknown', 'the new record was not found');
  return found;
}

/** Whatever the response to the create said, only what the PSA shows now counts. */
async function readBack(ctx: Context, record: PsaRecord, psaId: string): Promise<string> {
  const { psa, send, kv } = ctx;
  const { id, kind, ticketId } = record;
  if (kind === 'note' || psa.showsTime) {
    kv.put<Written>(`written/${id}`, { psaId, settledAt: 0 });
    // Before the connection is tested nothing is written, and the test must not unlock a note that was not read back.
    const isTested = kv.get('tested') !== undefined;
    if (isTested) kv.put('unread', id.replace('/text', ''));
    // A person may have deleted it.
    const shown = await unlessGone(psa.read(send, record, psaId));
    if (isTested) kv.delete('unread');
    if (shown?.isPrivate === false) {
      kv.put<PublicRecord>('public', { id, kind, ticketId, psaId });
      throw new PublicNote(
        `Customers could see note ${psaId} on ticket ${ticketId}. It is removed, and nothing more is written.`,
      );
    }
  }
  return keep(ctx, record, psaId);
}

/** Stores that the PSA has a record, and that customers cannot see it. */
function keep({ kv }: Context, record: PsaRecord, psaId: string): string {
  const { id, kind, ticketId } = record;
  if (record.kind === 'time_entry' && record.awaitsDecision) awaitDecision(kv, psaId, record);
  kv.put<Written>(`written/${id}`, { psaId, isRead: true, settledAt: 0 });
  console.log(JSON.stringify({ event: 'adapter_wrote', ticket: ticketId, kind, internal: true, id, psaId }));
  return psaId;
}

/** Removes the note that customers could see. Until then, nothing is written. @throws PsaFault */
export async function removePublicNote({ psa, send, kv }: Context): Promise<void> {
  const shown = kv.get<PublicRecord>('public');
  if (!shown) return;
  await unlessGone(psa.remove(send, shown, shown.psaId));
  for (const key of ['public', `written/${shown.id}`]) kv.delete(key);
}
