import { sha256 } from '../../lib/bytes.ts';
import type { Context } from './context.ts';
import { PsaFault, type PsaRecord, unlessGone } from './psa.ts';
import { authorsIn, ensure, PublicNote } from './writer.ts';

/**
 * Writes a note, reads it back, looks for it and removes it, unless this account has done so. Until it has succeeded, no
 * record is written.
 */
export async function testConnection(ctx: Context): Promise<void> {
  const { psa, kv, settings, world } = ctx;
  const account = (await sha256(psa.account)).toHex();
  if (kv.get('tested') === account) return;
  kv.delete('tested');
  const { TEST_TICKET: ticketId } = settings;
  // Each test has its own mark: a person who has seen that of an earlier test could write it.
  const testId = kv.get<string>('testId') ?? crypto.randomUUID();
  kv.put('testId', testId);
  const id = `test-${testId}`;
  const createdAt = new Date(world.now()).toISOString();
  const record: PsaRecord = { kind: 'note', id, ticketId, createdAt, text: 'Connection test', mark: `[twb:${id}]` };
  try {
    const psaId = await ensure(ctx, record, true);
    if (psaId !== undefined) await learnAuthor(ctx, record, psaId);
  } catch (err) {
    // Customers could see its mark.
    if (err instanceof PublicNote) kv.delete('testId');
    if (err instanceof PsaFault) err.message = `The connection test on ticket ${ticketId} failed: ${err.message}`;
    throw err;
  }
  kv.put('tested', account);
}

/** Removes the note, and stores who wrote it: a look-up takes no note of others for ours. */
async function learnAuthor({ psa, send, kv }: Context, record: PsaRecord, psaId: string): Promise<void> {
  const found = (await psa.find(send, record)).find((one) => one.psaId === psaId);
  await unlessGone(psa.remove(send, record, psaId));
  for (const key of [`written/${record.id}`, 'testId']) kv.delete(key);
  if (!found?.author || !found.isPrivate)
    throw new PsaFault('later', 'the list of notes does not show the note, that it is internal, or who wrote it');
  kv.put('authors', [...new Set([...authorsIn(kv), found.author])]);
}
