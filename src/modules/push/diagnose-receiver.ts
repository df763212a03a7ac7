import { TOLERANCE_SECONDS, type WebhookSecret } from '../../domain/webhook.ts';
import { check, Failure, type Finding, type ProbeResponse } from '../../ops/probe.ts';
import { diagnoseClock, OLD_MS, postSigned } from '../../ops/probe-signed.ts';

/** Sends signed test events to the receiver of the push, which must accept only genuine ones. */
export async function* diagnoseReceiver(
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

export const isSuccess = ({ status }: ProbeResponse) => status >= 200 && status < 300;

/** What a status other than 2xx means for the push. */
export function refusal(status: number): string {
  if (status >= 300 && status < 400)
    return `${status}: a redirect, which the push does not follow. Write its target into WEBHOOK_URL.`;
  if (status === 401 || status === 403)
    return `${status}: the receiver does not accept the signature. Its secret differs from WEBHOOK_SECRET, its clock is wrong, or it signs a body that a proxy has changed.`;
  if (status === 410) return '410: the receiver asks the push to stop.';
  return `${status}: the receiver must answer 2xx, even to a type that it does not know and to a record that your system refuses.`;
}
