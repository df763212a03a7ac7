import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { registerHooks } from 'node:module';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { listen } from '../support/listen.ts';
import { FAKE_URL, type Fake, type MakeFake } from './fake.ts';

/** What happens to a request: `run` has its effect and the fake's response. Without a response, the connection is cut. */
export type Around = (
  run: () => Promise<Response>,
  request: { method: string; body: string },
) => Promise<Response | undefined>;

/**
 * Serves a fake on this machine, for an adapter in another process. Resolves with its address, and the variables and secrets
 * of its adapter. GET /approve approves all time, and POST /tickets/ID creates a ticket.
 */
export async function serveFake({ data, env, fetch }: Fake, around: Around = (run) => run()) {
  const server = createServer(async (request, response) => {
    if (request.url === '/approve') {
      for (const entry of data.entries)
        Object.assign(entry, { decision: { status: 'APPROVED', reviewer: '1' }, updatedAt: data.now() });
      const { length } = data.entries;
      const approved = length === 1 ? '1 time entry is approved.' : `${length} time entries are approved.`;
      const early =
        'No time entry has arrived yet. Wait for "kind":"time_entry" in the output, then open this page again.';
      response.end(`${length === 0 ? early : approved}\n`);
      return;
    }
    const newTicket = Number(/^POST \/tickets\/(\d+)$/.exec(`${request.method} ${request.url}`)?.[1]);
    if (newTicket > 0) {
      const isThere = data.tickets.some(({ id }) => id === newTicket);
      if (!isThere) data.addTicket(newTicket);
      response.end(`Ticket ${newTicket} ${isThere ? 'exists already. Choose another number.' : 'is created.'}\n`);
      return;
    }
    const body = await text(request);
    const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, `${value}`]));
    const method = request.method ?? '';
    const init = { method, headers, body: body === '' ? null : body };
    const answer = await around(() => fetch(new Request(FAKE_URL + request.url, init)), { method, body });
    if (!answer) return void request.socket.destroy();
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  const url = await listen(server);
  // It ends with its process.
  server.unref();
  const entries = Object.entries(env).map(([name, value]) => [name, value.replace(FAKE_URL, url)]);
  return { url, env: Object.fromEntries(entries) as Record<string, string> };
}

/** Serves the fake of a PSA outside of the tests. */
export async function startFake(psa: string) {
  // The fake of ConnectWise imports the types of the vendor as a text, as Vite does.
  const textOf = (url: string) => `export default ${JSON.stringify(readFileSync(fileURLToPath(url), 'utf8'))}`;
  registerHooks({
    load: (url, context, nextLoad) =>
      url.endsWith('?raw') ? { format: 'module', source: textOf(url), shortCircuit: true } : nextLoad(url, context),
  });
  const fakes: Record<string, MakeFake> = await import(`./fake-${psa}.ts`);
  const [makeFake] = Object.values(fakes);
  if (!makeFake) throw new Error(`There is no fake of ${psa}.`);
  const served = await serveFake(makeFake(Date.now));
  return { ...served, env: { TEST_TICKET: '501', ...served.env } };
}
