import * as z from 'zod';
import { signWebhook, TOLERANCE_SECONDS, type WebhookSecret } from '../../domain/webhook.ts';
import { type Answer, answer, check, Failure, type Finding, jsonOf } from '../../ops/probe.ts';

// Checks with signed messages: of /psa, as the PSA sends them, and of the PSA's receiver, as the push
// does.

/** From this difference between two clocks on, the doctor complains: well before messages fail. */
const MAX_SKEW_SECONDS = 60;
/** Clearly outside the tolerance of receivers. */
const OLD_MS = 2 * TOLERANCE_SECONDS * 1000;
/** An organization that no directory has. */
const UNKNOWN_ORGANIZATION = 'unknown.doctor';

interface Message {
  secrets: readonly WebhookSecret[];
  /** UTC milliseconds. */
  at: number;
  body: string;
}

async function post(send: typeof fetch, url: string, { secrets, at, body }: Message): Promise<Answer> {
  const signature = await signWebhook(secrets, { id: `msg_doctor_${crypto.randomUUID()}`, at, body });
  return answer(send, url, { method: 'POST', headers: { 'Content-Type': 'application/json', ...signature }, body });
}

const failureShape = z.object({ ok: z.literal(false), error: z.object({ code: z.string() }) });

/** Checks that /psa answers messages with these secrets, and no others. Writes nothing. */
export async function* diagnosePsa(
  origin: string,
  secrets: readonly WebhookSecret[],
  send: typeof fetch = fetch,
): AsyncGenerator<Finding> {
  const url = `${origin}/psa`;
  const message = (from: readonly WebhookSecret[], at = Date.now()) => {
    const body = JSON.stringify({ type: 'work.changes', data: { organization: UNKNOWN_ORGANIZATION, cursor: null } });
    return post(send, url, { secrets: from, at, body });
  };
  const reachable = await check('/psa without a signature', async () => {
    const { status } = await answer(send, url, { method: 'POST' });
    if (status === 401) return 'refused with 401';
    if (status === 404)
      throw new Failure('404: the deployment has no PSA_SECRET. Set it: npx wrangler secret put PSA_SECRET');
    throw new Failure(
      `${status} instead of 401: something in front of the service answers, or bypasses the signature.`,
    );
  });
  yield reachable;
  if (!reachable.ok) return;
  yield* diagnoseClock(url, () => message(secrets));
  yield await check('/psa with your secret', async () => {
    const given = await message(secrets);
    const found = failureShape.safeParse(jsonOf(given.body));
    // The organization does not exist, so this is the answer of a call that was run.
    if (given.status === 404 && found.data?.error.code === 'organization_not_found') return 'the signature is accepted';
    if (given.status === 401)
      throw new Failure(
        '401: PSA_SECRET here is not one of the deployment, or a proxy changes the body or its headers.',
      );
    throw new Failure(`${given.status}: the message was not answered by a call.`);
  });
  yield await check('/psa with another secret, or an old message', async () => {
    const forged = await message([crypto.getRandomValues(new Uint8Array(32))]);
    const old = await message(secrets, Date.now() - OLD_MS);
    if (forged.status === 401 && old.status === 401) return 'refused with 401';
    throw new Failure(`${forged.status} and ${old.status} instead of 401.`);
  });
}

/** Sends signed test events to the receiver of the push, which must accept only genuine ones. */
export async function* diagnoseReceiver(
  url: string,
  secrets: readonly WebhookSecret[],
  send: typeof fetch = fetch,
): AsyncGenerator<Finding> {
  const event = (from: readonly WebhookSecret[], at = Date.now()) => {
    const body = JSON.stringify({ type: 'test', timestamp: new Date(at).toISOString(), data: {} });
    return post(send, url, { secrets: from, at, body });
  };
  const isSuccess = ({ status }: Answer) => status >= 200 && status < 300;
  const accepted = await check('the receiver, with a signed test event', async () => {
    const given = await event(secrets);
    if (isSuccess(given)) return `accepted with ${given.status}`;
    if (given.status >= 300 && given.status < 400)
      throw new Failure(
        `${given.status}: a redirect, which the push does not follow. Write its target into WEBHOOK_URL.`,
      );
    if (given.status === 401 || given.status === 403)
      throw new Failure(
        `${given.status}: the receiver does not accept the signature. Its secret differs from WEBHOOK_SECRET, its clock is wrong, or it signs a body that a proxy has changed.`,
      );
    if (given.status === 410) throw new Failure('410: the receiver asks the push to stop.');
    throw new Failure(`${given.status}: the receiver must answer 2xx to a type that it does not know, such as "test".`);
  });
  yield accepted;
  if (!accepted.answered) return;
  yield* diagnoseClock(url, () => event(secrets));
  if (!accepted.ok) return;
  yield await check('the receiver, with a forged event', async () => {
    const given = await event([crypto.getRandomValues(new Uint8Array(32))]);
    if (!isSuccess(given)) return `refused with ${given.status}`;
    throw new Failure(
      `accepted with ${given.status}: anyone who knows the address can write into your PSA. Verify webhook-signature.`,
    );
  });
  yield await check('the receiver, with an old event', async () => {
    const given = await event(secrets, Date.now() - OLD_MS);
    if (!isSuccess(given)) return `refused with ${given.status}`;
    throw new Failure(
      `accepted with ${given.status}: a captured event can be sent again at any time. Refuse a webhook-timestamp more than ${TOLERANCE_SECONDS} s from your clock.`,
    );
  });
}

/** Compares the clock of this machine with that of the response, if it has a date. */
async function* diagnoseClock(url: string, ask: () => Promise<Answer>): AsyncGenerator<Finding> {
  const sent = Date.now();
  const finding = await check('the clocks', async () => {
    const { headers } = await ask();
    const theirs = Date.parse(headers.get('date') ?? '');
    if (Number.isNaN(theirs)) return 'not compared: the response has no Date';
    // A Date has whole seconds, and is from some time between request and response.
    const seconds = Math.round((theirs + 500 - (sent + Date.now()) / 2) / 1000);
    if (Math.abs(seconds) <= MAX_SKEW_SECONDS) return `differ by ${Math.abs(seconds)} s`;
    throw new Failure(
      `that of ${new URL(url).host} is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} this machine's. Messages are refused from ${TOLERANCE_SECONDS} s on: synchronize both (NTP).`,
    );
  });
  yield finding;
}
