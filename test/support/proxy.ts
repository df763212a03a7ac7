import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from './listen.ts';

/** A request as a proxy in front of the service sees it. */
interface Incoming {
  method: string;
  path: string;
  headers: Headers;
  body: string;
}

/**
 * What a proxy does with a request: it responds itself, or passes it on and may change the
 * response. Undefined: it cuts the connection.
 */
export type Intercept = (
  incoming: Incoming,
  pass: () => Promise<Response>,
) => Response | undefined | Promise<Response | undefined>;

/** Serves a proxy in front of a service. */
export async function serveProxy(
  service: string,
  intercept: Intercept,
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
    const answer = await intercept({ method, path, headers, body }, pass);
    if (!answer) return void request.socket.destroy();
    const kept = [...answer.headers].filter(
      ([name]) => !/^(connection|keep-alive|content-length|content-encoding|transfer-encoding)$/.test(name),
    );
    response.writeHead(answer.status, Object.fromEntries(kept)).end(await answer.text());
  });
  return {
    url: await listen(server),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
