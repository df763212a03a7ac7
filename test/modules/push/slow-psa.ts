import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { freePort } from '../../support/server.ts';

/** What an adapter sends. Nothing in the PSA enforces that `externalId`, the id of our record, is unique. */
interface Fields {
  externalId: string;
  ticket: string;
  text: string;
  internal?: boolean;
  user?: string;
  date?: string;
  minutes?: number;
  billable?: boolean;
  hourlyRate?: number;
  status?: string;
}
export type PsaRecord = Fields & { id: number; path: string };

/**
 * A PSA whose only interface is a REST API, and that takes `delayMs` for each call. A write is stored at the end of that time,
 * even if the client no longer exists. A look-up returns what was stored when the call began.
 */
export async function startSlowPsa(delayMs: number) {
  const psa = {
    url: `http://127.0.0.1:${await freePort()}`,
    /** In the order in which they were created. */
    records: [] as PsaRecord[],
    calls: 0,
    /** The statuses of all writes to a ticket, or of a record by its `externalId`. */
    refusals: new Map<string, number>(),
    /** Whether every call gets a 503. */
    isDown: false,
    /** Whether a look-up returns 42, which no adapter expects. */
    isConfused: false,
    /** Called when a create begins, which waits for it, and when its record is stored and the answer not yet sent. */
    onCreate: async (_: 'begun' | 'stored'): Promise<void> => undefined,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  async function answer(request: IncomingMessage): Promise<[status: number, body: unknown]> {
    const { method, url = '' } = request;
    const { pathname, searchParams } = new URL(url, psa.url);
    const [, path = '', id] = pathname.split('/');
    const found = psa.records.filter((one) => one.path === path && one.externalId === searchParams.get('externalId'));
    const body = await text(request);
    psa.calls += 1;
    if (method === 'POST') await psa.onCreate('begun');
    await setTimeout(delayMs);
    if (psa.isDown) return [503, null];
    if (method === 'GET') return [200, psa.isConfused ? 42 : found];
    const written = method === 'PATCH' ? psa.records[Number(id) - 1] : undefined;
    const fields: Fields = { ...written, ...JSON.parse(body) };
    const refusal = psa.refusals.get(fields.ticket) ?? psa.refusals.get(fields.externalId);
    if (refusal !== undefined) return [refusal, null];
    if (written) return [200, Object.assign(written, fields)];
    const record = { ...fields, path, id: psa.records.length + 1 };
    psa.records.push(record);
    await psa.onCreate('stored');
    return [201, record];
  }
  const server = createServer((request, response) => {
    answer(request).then(
      ([status, body]) => response.writeHead(status).end(JSON.stringify(body)),
      () => request.socket.destroy(),
    );
  });
  await once(server.listen(Number(new URL(psa.url).port), '127.0.0.1'), 'listening');
  return psa;
}
