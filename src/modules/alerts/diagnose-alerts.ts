import { check, Failure, type Finding, sendProbe } from '../../ops/probe.ts';

const TEXT = 'A test from the doctor of the Ticket Write-Back API: alerts can be sent here.';

/** Sends a text to the address of the alerts, as the service does. */
export async function* diagnoseAlerts(url: string, send: typeof fetch = fetch): AsyncGenerator<Finding> {
  yield await check('ALERT_URL, with a test text', async () => {
    const headers = { 'Content-Type': 'application/json' };
    const { status } = await sendProbe(send, url, { method: 'POST', headers, body: JSON.stringify({ text: TEXT }) });
    if (status >= 200 && status < 300) return `accepted with ${status}; look for the text there`;
    if (status >= 300 && status < 400)
      throw new Failure(`${status}: a redirect, which is not followed. Set ALERT_URL to its target.`);
    if (status === 400 || status === 415 || status === 422)
      throw new Failure(`${status}: the address does not take {"text": …} as JSON. Take that of an incoming webhook.`);
    if (status === 401 || status === 403 || status === 404 || status === 410)
      throw new Failure(
        `${status}: the address is not, or no longer, valid. Make a new incoming webhook, and set ALERT_URL.`,
      );
    throw new Failure(`${status}: the address must return 2xx. Alerts are sent again until it does.`);
  });
}
