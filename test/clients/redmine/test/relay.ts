import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { freePort } from '../../../support/server.ts';

const OF_THE_CONNECTION = ['host', 'connection', 'content-length', 'transfer-encoding', 'expect'];

/** A request that passed, and the status of its response. */
export interface Passed {
  method: string;
  path: string;
  body: string;
  status: number;
}

/** Passes requests on to a server, and notes them. */
interface Relay {
  url: string;
  /** All requests that got a response from the server. */
  passed: Passed[];
  /**
   * Lets this happen after the server has done what the next matching request says, and before the
   * client knows: the response is lost. Resolves when it has happened.
   */
  interrupt(matches: (request: Passed) => boolean, happen: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

export async function startRelay(target: string): Promise<Relay> {
  const passed: Passed[] = [];
  let fault: { matches: (request: Passed) => boolean; happen: () => Promise<void> } | undefined;

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '' } = request;
    const headers = Object.fromEntries(Object.entries(request.headersDistinct).map(([name, all]) => [name, `${all}`]));
    for (const name of OF_THE_CONNECTION) delete headers[name];
    const body = await text(request);
    const answer = await fetch(target + path, { method, headers, body: method === 'GET' ? null : body });
    const content = Buffer.from(await answer.arrayBuffer());
    const done = { method, path, body, status: answer.status };
    passed.push(done);
    if (fault?.matches(done)) {
      const { happen } = fault;
      fault = undefined;
      await happen();
      request.socket.destroy();
    } else response.writeHead(answer.status).end(content);
  }

  const server = createServer((request, response) => {
    // The server is down.
    pass(request, response).catch(() => request.socket.destroy());
  });
  const port = await freePort();
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${port}`,
    passed,
    interrupt: (matches, happen) =>
      new Promise((resolve, reject) => {
        fault = { matches, happen: () => happen().then(resolve, reject) };
      }),
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
