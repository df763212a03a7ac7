import type { Context } from './context.ts';
import { PsaFault, type PsaRecord, partsOf, unlessGone, wholeText } from './psa.ts';
import { REQUEST_DEADLINE_MS } from './send.ts';
import { awaitDecision, type Pending, type Written } from './store.ts';

/** After this time, a create that was cut off has taken place or never will. */
const SETTLED_MS = 2 * REQUEST_DEADLINE_MS;

/** Customers could see a note. It is removed, and nothing more is written. */
export class PublicNote extends Error {}

/**
 * Writes a record with all of its parts, each at most once. A redaction replaces the text of those that the PSA has.
 * @throws PsaFault, PublicNote
 */
export async function writeRecord(ctx: Context, { record, isRedaction, mayCreate }: Pending): Promise<void> {
  const { psa, send } = ctx;
  const parts = isRedaction && record.kind !== 'note' ? [record, wholeText(record)] : partsOf(record, psa.maxTimeText);
  for (const part of parts) {
    const psaId = await ensure(ctx, part, isRedaction ? mayCreate && part === record : true);
    if (isRedaction && psaId !== undefined) await unlessGone(psa.redact(send, part, psaId));
  }
}

/**
 * Returns the id of a record in the PSA, and creates it if it is not there. What is sent is stored before. If a create has
 * begun, only the PSA knows whether it took place: when no call can still be running, the adapter looks for the mark.
 */
export async function ensure(ctx: Context, record: PsaRecord, mayCreate: boolean): Promise<string | undefined> {
  const { psa, send, kv, world } = ctx;
  const written = kv.get<Written>(`written/${record.id}`);
  if (written?.psaId !== undefined) return written.isRead ? written.psaId : readBack(ctx, record, written.psaId);
  // Another adapter may have written records that are older.
  if (written || !mayCreate || Date.parse(record.createdAt) < (kv.get<number>('lookBefore') ?? 0)) {
    const retryAfterMs = (written?.settledAt ?? 0) - world.now();
    if (retryAfterMs > 0) throw new PsaFault('later', 'An earlier request may still take place.', { retryAfterMs });
    const [found, ...others] = (await unlessGone(psa.find(send, record))) ?? [];
    if (others.length > 0) console.error(JSON.stringify({ event: 'record_twice', record: record.id, found, others }));
    if (found !== undefined) return readBack(ctx, record, found);
  }
  if (!mayCreate) return undefined;
  kv.put<Written>(`written/${record.id}`, { settledAt: world.now() + SETTLED_MS });
  return readBack(ctx, record, await createOnce(ctx, record));
}

async function createOnce({ psa, send, kv }: Context, record: PsaRecord): Promise<string> {
  const psaId = await psa.create(send, record).catch((err: unknown) => {
    // The PSA has certainly not created it, so the next attempt need not look for it.
    if (err instanceof PsaFault && err.outcome !== 'unknown') kv.delete(`written/${record.id}`);
    throw err;
  });
  const [found] = psaId === null ? await psa.find(send, record) : [psaId];
  if (found === undefined) throw new PsaFault('unknown', 'the new record was not found');
  return found;
}

/** Whatever the response to the create said, only what the PSA shows now counts. */
async function readBack({ psa, send, kv }: Context, record: PsaRecord, psaId: string): Promise<string> {
  const { id, kind, ticketId } = record;
  if (kind === 'note' || psa.showsTime) {
    kv.put<Written>(`written/${id}`, { psaId, settledAt: 0 });
    // Before the connection is tested nothing is written, and the test must not unlock a note that was not read back.
    const isTested = kv.get('isTested') === true;
    if (isTested) kv.put('unread', id.replace('/text', ''));
    // A person may have deleted it.
    const isPrivate = await unlessGone(psa.isPrivate(send, ticketId, psaId));
    if (isTested) kv.delete('unread');
    if (isPrivate === false) {
      kv.put('public', { id, ticketId, psaId });
      throw new PublicNote(
        `Customers could see note ${psaId} on ticket ${ticketId}. It is removed, and nothing more is written.`,
      );
    }
  }
  if (record.kind === 'time_entry' && record.approvals === 'psa') awaitDecision(kv, psaId, record);
  kv.put<Written>(`written/${id}`, { psaId, isRead: true, settledAt: 0 });
  console.log(JSON.stringify({ event: 'adapter_wrote', ticket: ticketId, kind, internal: true, id, psaId }));
  return psaId;
}

/** Removes the note that customers could see. Until then, nothing is written. @throws PsaFault */
export async function removePublicNote({ psa, send, kv }: Context): Promise<void> {
  const note = kv.get<{ id: string; ticketId: string; psaId: string }>('public');
  if (!note) return;
  await unlessGone(psa.remove(send, note.ticketId, note.psaId));
  for (const key of ['public', `written/${note.id}`]) kv.delete(key);
}
