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
    throw new Failure(
      `${status}: the address must take {"text": …} as JSON and return 2xx, as an incoming webhook does. Alerts are sent again for 24 hours.`,
    );
  });
}
