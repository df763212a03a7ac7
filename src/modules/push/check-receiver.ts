import { ATTEMPT_TIMEOUT_MS } from '../../domain/post-outcome.ts';
import { timeOrderedId } from '../../domain/record-id.ts';
import { TOLERANCE_SECONDS, type WebhookSecret } from '../../domain/webhook.ts';
import { check, Failure, type Finding, OLD_MS, type ProbeResponse, postSigned } from '../../ops/probe.ts';
import alert from './assets/docs/psa/samples/alert.json' with { type: 'json' };
import noteCreated from './assets/docs/psa/samples/note-created.json' with { type: 'json' };
import noteRedacted from './assets/docs/psa/samples/note-redacted.json' with { type: 'json' };
import entryApproved from './assets/docs/psa/samples/time-entry-approved.json' with { type: 'json' };
import entryCreated from './assets/docs/psa/samples/time-entry-created.json' with { type: 'json' };

/** Sends signed test events to the receiver of the push, which must accept only genuine ones. */
export async function* checkReceiver(
  url: string,
  secrets: readonly WebhookSecret[],
  send: typeof fetch = fetch,
): AsyncGenerator<Finding> {
  const event = (from: readonly WebhookSecret[], at = Date.now()) => {
    const body = JSON.stringify({ type: 'test', timestamp: new Date(at).toISOString(), data: {} });
    return postSigned(send, url, { secrets: from, at, body });
  };
  const accepted = await check('the receiver, with a signed test event', async () => {
    const given = await event(secrets);
    if (isSuccess(given)) return `accepted with ${given.status}`;
    throw new Failure(refusal(given.status));
  });
  yield accepted;
  if (!accepted.ok) return;
  const forged = 'anyone who knows the address can write into your PSA.';
  const unacceptable: [what: string, from: readonly WebhookSecret[], ageMs: number, why: string][] = [
    ['a forged event', [crypto.getRandomValues(new Uint8Array(32))], 0, `${forged} Verify webhook-signature.`],
    // HMAC pads its key with zeros, so a zero signs as the empty key, which WebCrypto does not accept.
    ['an event signed with the empty key', [new Uint8Array(1)], 0, `${forged} Refuse to start with an empty secret.`],
    [
      'an old event',
      secrets,
      OLD_MS,
      `a captured event can be sent again at any time. Refuse a webhook-timestamp more than ${TOLERANCE_SECONDS} s from your clock.`,
    ],
  ];
  for (const [what, from, ageMs, why] of unacceptable)
    yield await check(`the receiver, with ${what}`, async () => {
      const given = await event(from, Date.now() - ageMs);
      if (!isSuccess(given)) return `refused with ${given.status}`;
      throw new Failure(`accepted with ${given.status}: ${why}`);
    });
}

const isSuccess = ({ status }: ProbeResponse) => status >= 200 && status < 300;

function refusal(status: number): string {
  if (status >= 300 && status < 400)
    return `${status}: a redirect, which the push does not follow. Write its target into WEBHOOK_URL.`;
  if (status === 401 || status === 403)
    return `${status}: the receiver does not accept the signature. Its secret differs from WEBHOOK_SECRET, its clock is wrong, or it signs a body that a proxy has changed.`;
  if (status === 410) return '410: the receiver asks the push to stop.';
  return `${status}: the receiver must return 2xx, even to a type that it does not know and to a record that your system refuses.`;
}

/** Where the samples are written: ids of the PSA under test, or those of the samples. */
interface SampleNames {
  organization?: string | undefined;
  ticket?: string | undefined;
  user?: string | undefined;
}

const MANY = 100;
/** A ticket that no PSA has. */
const UNKNOWN_TICKET = 'no-such-ticket';
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Sends samples of messages, as the push and the alerts send them. */
export async function* checkSamples(
  url: string,
  secrets: readonly WebhookSecret[],
  names: SampleNames = {},
  send: typeof fetch = fetch,
): AsyncGenerator<Finding> {
  const renamed = renamer(names);
  const renamedElsewhere = renamer({ ...names, ticket: UNKNOWN_TICKET });
  const post = (body: string, id?: string) =>
    postSigned(send, url, { secrets, at: Date.now(), body, timeoutMs: ATTEMPT_TIMEOUT_MS, ...(id && { id }) });
  let isAccepted = true;
  const accepts = async (what: string, attempt: () => ReturnType<typeof post>[]) => {
    const finding = await check(`the receiver, with ${what}`, async () => {
      const given = await Promise.all(attempt());
      const refused = given.find((one) => !isSuccess(one));
      if (refused) throw new Failure(refusal(refused.status));
      return `accepted after ${Math.max(...given.map(({ ms }) => ms))} ms`;
    });
    isAccepted &&= finding.ok;
    return finding;
  };

  const many = renamed(manyNotes());
  const id = `page_${timeOrderedId(Date.now()).replaceAll('-', '')}`;
  const samples: [what: string, body: string][] = [
    ['a note on a ticket that your system does not have', renamedElsewhere(noteCreated)],
    ['a note', renamed(noteCreated)],
    ['a time entry', renamed(entryCreated)],
    ['an approval', renamed(entryApproved)],
    ['a redaction', renamed(noteRedacted)],
    ['an alert', renamed(alert)],
  ];
  for (const [what, body] of samples) yield await accepts(what, () => [post(body)]);
  const first = await accepts(`${MANY} changes`, () => [post(many, id)]);
  yield first.answered
    ? first
    : { ...first, says: `${first.says} Store the message, respond, and write into your system from a queue.` };
  yield await accepts(`the same ${MANY} changes again`, () => [post(many, id)]);
  yield await accepts(`the same ${MANY} changes twice simultaneously`, () => [post(many, id), post(many, id)]);
  if (!isAccepted) return;
  const idOf = ({ data }: typeof noteCreated | typeof entryCreated, rename = renamed) =>
    rename(data.changes[0]?.targetId ?? '').replaceAll('"', '');
  const [note, entry, refused] = [idOf(noteCreated), idOf(entryCreated), idOf(noteCreated, renamedElsewhere)];
  yield await check(
    'what your system has now',
    async () =>
      `look for note ${note}, whose text is "[redacted]", for time entry ${entry}, and for ${MANY} notes "Sample 1 of ${MANY}" and so on: each must be there once, and every note must be internal. Your system must have refused note ${refused} on ticket ${UNKNOWN_TICKET}, and its work.report must be sent`,
  );
}

/** Writes a sample as JSON, with the tested PSA's names, and with new ids in each run. */
function renamer({ organization, ticket, user }: SampleNames): (sample: unknown) => string {
  const ids = new Map<string, string>();
  const names: Record<string, string | undefined> = { organization, ticketId: ticket, userId: user };
  const idOf = (id: string) => {
    const own = ids.get(id) ?? crypto.randomUUID();
    ids.set(id, own);
    return own;
  };
  return (sample) =>
    JSON.stringify(sample, (name, value) =>
      typeof value === 'string' ? (names[name] ?? value.replaceAll(UUID, idOf)) : value,
    );
}

function manyNotes() {
  const { changes, ...data } = noteCreated.data;
  const notes = Array.from({ length: MANY }, (_, index) => {
    const [id, requestId, seq] = [crypto.randomUUID(), crypto.randomUUID(), 100 + index];
    const message = { mediaType: 'text/plain', text: `Sample ${index + 1} of ${MANY}` };
    return changes.map((change) => ({
      ...change,
      cursor: `9f86d081884c7d65.${seq}.${requestId}`,
      seq,
      requestId,
      targetId: id,
      idempotencyKey: null,
      note: { ...change.note, id, message },
    }));
  }).flat();
  return { ...noteCreated, data: { ...data, changes: notes, cursor: notes.at(-1)?.cursor } };
}
