import { ATTEMPT_TIMEOUT_MS, outcomeOf, type PostOutcome } from '../domain/post-outcome.ts';
import { signWebhook, type WebhookSecret } from '../domain/webhook.ts';

const USER_AGENT = 'Ticket-Write-Back-API/1';

export interface PostedMessage {
  /** The same whenever the same message is sent again. */
  id: string;
  /** When it is sent, in UTC milliseconds. */
  at: number;
  body: string;
}

/** Posts a message to the receiver, signed with all secrets, and returns what became of it. */
export async function deliver(
  { url, secrets }: { url: string; secrets: readonly WebhookSecret[] },
  message: PostedMessage,
): Promise<PostOutcome> {
  return post(url, message.body, await signWebhook(secrets, message));
}

export async function post(url: string, body: string, headers: object = {}): Promise<PostOutcome> {
  let response: Response;
  // Not AbortSignal.timeout, whose timer would keep the push object in memory for the rest of the time.
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), ATTEMPT_TIMEOUT_MS);
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json', 'User-Agent': USER_AGENT },
      body,
      // A redirect would send the work of an organization to an address that is not configured.
      redirect: 'manual',
      signal: timeout.signal,
    });
  } catch {
    // Do not log the runtime's message: it contains the URL.
    const isTimeout = timeout.signal.aborted;
    const failure = isTimeout ? `no response within ${ATTEMPT_TIMEOUT_MS / 1000} s` : 'no connection';
    return { result: 'failed', failure, retryAfterMs: 0, isTooLarge: isTimeout };
  } finally {
    clearTimeout(timer);
  }
  // Discard the body: only the status counts.
  await response.body?.cancel().catch(() => undefined);
  return outcomeOf(response.status, response.headers.get('Retry-After'), Date.now());
}
