// Checks a note with the installed package, and writes it twice. It runs on Node.js 20, Deno, Bun and workerd.
import { WriteBackClient } from 'ticket-write-back-client';

export async function writeTwice({ url, key, eventId }) {
  const tickets = new WriteBackClient({ url, key, workflow: 'client' });
  const { keyName } = await tickets.ping();
  const note = { ticketId: '1001', eventId, message: `Written for ${keyName}` };
  const { dryRun } = await tickets.dryRunNote(note);
  const write = () => tickets.addInternalNote(note);
  const [first, second] = [await write(), await write()];
  const failed = await tickets
    .logTime({ ticketId: '9', eventId, minutes: 0, description: '', billable: true })
    .catch((err) => err);
  return { dryRun, isSame: first.note.id === second.note.id, isReplay: second.idempotentReplay, code: failed.code };
}

const settings = globalThis.process?.env?.['CLIENT_SETTINGS'];
if (settings !== undefined) console.log(JSON.stringify(await writeTwice(JSON.parse(settings))));
