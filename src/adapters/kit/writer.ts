import { type Psa, PsaFault, type PsaRecord, partsOf, type Send, unlessGone, wholeText } from './psa.ts';
import { REQUEST_DEADLINE_MS } from './send.ts';
import type { Store } from './store.ts';

/** After this time, a create that was cut off has taken place or never will. */
const SETTLED_MS = 2 * REQUEST_DEADLINE_MS;

/** Customers could see a note. It is removed, and nothing more is written. */
export class PublicNote extends Error {}

/** It is unknown whether the record is in the PSA, and too early to look for it. */
export class NotSettled extends Error {
  readonly waitMs: number;

  constructor(waitMs: number) {
    super('An earlier request may still take place.');
    this.waitMs = waitMs;
  }
}

export interface Target {
  psa: Psa;
  send: Send;
  store: Store;
  now: () => number;
  /** Another adapter may have written records that are older: they are looked for before they are created. */
  lookBefore: number;
}

/** Writes a record with all of its parts, each at most once. @throws PsaFault, PublicNote, NotSettled */
export async function writeRecord(target: Target, record: PsaRecord): Promise<void> {
  for (const part of partsOf(record, target.psa)) await ensure(target, part);
}

/** Replaces the text of a record in the PSA. A record that is not there needs nothing. @throws PsaFault, PublicNote, NotSettled */
export async function redactRecord(target: Target, record: PsaRecord): Promise<void> {
  const { psa, send } = target;
  for (const part of record.kind === 'note' ? [record] : [record, wholeText(record)]) {
    const psaId = await ensure(target, part, { create: false });
    if (psaId !== undefined) await unlessGone(psa.redact(send, part, psaId));
  }
}

/**
 * Returns the id of a record in the PSA, and creates it if it is not there. A row is stored before the create is sent. If
 * a row says that a create has begun, only the PSA knows whether it took place: when no call can still be running, the
 * adapter looks for the mark.
 */
async function ensure(target: Target, record: PsaRecord, { create } = { create: true }): Promise<string | undefined> {
  const { psa, send, store, now, lookBefore } = target;
  const row = store.find(record.id);
  if (row?.psa_id) return row.state === 'written' ? row.psa_id : readBack(target, record, row.psa_id);
  if (row || Date.parse(record.createdAt) < lookBefore) {
    const waitMs = (row?.begun_at ?? 0) + SETTLED_MS - now();
    if (waitMs > 0) throw new NotSettled(waitMs);
    const [found, ...others] = (await unlessGone(psa.find(send, record))) ?? [];
    if (others.length > 0) console.error(JSON.stringify({ event: 'record_twice', record: record.id, found, others }));
    if (found !== undefined) return readBack(target, record, found);
  }
  if (!create) return undefined;
  store.put(record, 'begun', null, now());
  return readBack(target, record, await createOnce(target, record));
}

async function createOnce({ psa, send, store }: Target, record: PsaRecord): Promise<string> {
  let isDone = false;
  try {
    const psaId = await psa.create(async (request) => {
      const response = await send(request);
      isDone ||= request.method !== 'GET';
      return response;
    }, record);
    const [found] = psaId === null ? await psa.find(send, record) : [psaId];
    if (found !== undefined) return found;
    throw new PsaFault('unknown', 'the new record was not found');
  } catch (err) {
    // The PSA has certainly not created it, so the next attempt need not look for it.
    if (err instanceof PsaFault && err.outcome !== 'unknown' && !isDone) store.forget(record.id);
    throw err;
  }
}

/** Whatever the response to the create said, only what the PSA shows now counts. */
async function readBack({ psa, send, store, now }: Target, record: PsaRecord, psaId: string): Promise<string> {
  if (record.kind === 'note') {
    store.put(record, 'begun', psaId, now());
    // A person may have deleted it.
    if ((await unlessGone(psa.isPrivate(send, record, psaId))) === false) {
      store.put(record, 'public', psaId, now());
      throw new PublicNote(
        `Customers could see note ${psaId} on ticket ${record.ticketId}. It is removed, and nothing more is written.`,
      );
    }
  }
  store.put(record, 'written', psaId, now());
  return psaId;
}
