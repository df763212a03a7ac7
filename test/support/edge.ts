import { once } from 'node:events';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';

/** A request as what stands in front of the service sees it. */
export interface Incoming {
  method: string;
  path: string;
  headers: Headers;
  body: string;
}

/** What stands in front does with a request: answers it, or passes it on and changes the answer. */
export type Meddling = (incoming: Incoming, pass: () => Promise<Response>) => Response | Promise<Response>;

/** Something that stands in front of a service, such as bot protection or a proxy. */
export async function serveEdge(
  service: string,
  meddle: Meddling,
): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer(async (request, response) => {
    const { method = 'GET', url: path = '/' } = request;
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headers)) {
      if (typeof value === 'string' && !/^(host|connection|content-length|transfer-encoding)$/.test(name))
        headers.set(name, value);
    }
    const body = (await buffer(request)).toString();
    const pass = () => fetch(service + path, { method, headers, redirect: 'manual', ...(body === '' ? {} : { body }) });
    const answer = await meddle({ method, path, headers, body }, pass);
    const kept = [...answer.headers].filter(
      ([name]) => !/^(connection|keep-alive|content-length|content-encoding|transfer-encoding)$/.test(name),
    );
    response.writeHead(answer.status, Object.fromEntries(kept)).end(await answer.text());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
