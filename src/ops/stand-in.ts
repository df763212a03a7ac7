import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import * as z from 'zod';
import { isSigned, readMessage, type WebhookSecret } from '../domain/webhook.ts';
import { UsageError } from './failures.ts';
import { jsonOf } from './probe.ts';

const REPORT_TIMEOUT_MS = 60_000;
const refusal = z.object({
  type: z.literal('work.report'),
  data: z.object({ id: z.string(), result: z.literal('refused'), reason: z.string() }),
});

/** Listens at a local address in place of `/psa`, and accepts every signed call. @throws UsageError if it cannot */
export async function standInForPsa({ hostname, port }: URL, secrets: readonly WebhookSecret[]) {
  const reasons = new Map<string, string>();
  async function receive(request: IncomingMessage): Promise<number> {
    const body = await buffer(request);
    const header = (name: string) => request.headers[name]?.toString();
    const signature = header('webhook-signature');
    const [id, timestamp] = [header('webhook-id'), header('webhook-timestamp')];
    const message = readMessage(
      { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature },
      Date.now(),
    );
    if (typeof message === 'string' || !(await isSigned(secrets, message, body, signature ?? ''))) return 401;
    const { data: report } = refusal.safeParse(jsonOf(body.toString()));
    if (report) reasons.set(report.data.id, report.data.reason);
    return 200;
  }
  const server = createServer((request, response) => {
    receive(request).then(
      (status) => response.writeHead(status).end(JSON.stringify({ ok: status === 200, value: { status: 'recorded' } })),
      () => request.socket.destroy(),
    );
  });
  await once(server.listen(Number(port), hostname), 'listening').catch((err: unknown) => {
    throw new UsageError(`This machine cannot listen at ${hostname}:${port}: ${err}`);
  });
  return {
    /** Waits up to a minute for the report that a record is refused, and resolves with its reason. */
    reasonFor: async (id: string): Promise<string | undefined> => {
      const until = Date.now() + REPORT_TIMEOUT_MS;
      while (!reasons.has(id) && Date.now() < until) await setTimeout(100);
      return reasons.get(id);
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
