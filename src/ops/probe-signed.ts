import { signWebhook, TOLERANCE_SECONDS, type WebhookSecret } from '../domain/webhook.ts';
import { check, Failure, type Finding, type ProbeResponse, sendProbe } from './probe.ts';

/** From this difference between two clocks on, the doctor complains: well before messages fail. */
const MAX_SKEW_SECONDS = 60;
/** Clearly outside the tolerance of receivers. */
export const OLD_MS = 2 * TOLERANCE_SECONDS * 1000;
interface Message {
  secrets: readonly WebhookSecret[];
  at: number;
  body: string;
  /** The `webhook-id`. Default: a new one. */
  id?: string;
  timeoutMs?: number;
}

export async function postSigned(
  send: typeof fetch,
  url: string,
  { secrets, at, body, id = `msg_doctor_${crypto.randomUUID()}`, timeoutMs }: Message,
): Promise<ProbeResponse> {
  const signature = await signWebhook(secrets, { id, at, body });
  return sendProbe(
    send,
    url,
    { method: 'POST', headers: { 'Content-Type': 'application/json', ...signature }, body },
    timeoutMs,
  );
}

/** Compares the clock of this machine with that of the response, if it has a date. */
export async function* diagnoseClock(url: string, ask: () => Promise<ProbeResponse>): AsyncGenerator<Finding> {
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
