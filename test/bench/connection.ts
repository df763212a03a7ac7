import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface Answer {
  status: number;
  body: string;
}

const HEAD_END = '\r\n\r\n';
const TIMEOUT_MS = 10_000;

/**
 * A kept-alive HTTP/1.1 connection with one request at a time. node:http would need more processor
 * time than the fastest worker here. This reads only the status and the end of a response.
 */
export class Connection {
  private received = '';
  private waiting: PromiseWithResolvers<Answer> | undefined;
  private readonly socket: Socket;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)));
    socket.on('data', (chunk) => this.receive(String(chunk)));
    socket.on('error', (err) => this.waiting?.reject(err));
    socket.on('close', () => this.waiting?.reject(new Error('the connection was closed')));
  }

  static async open({ hostname, port }: URL): Promise<Connection> {
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return new Connection(socket);
  }

  send(request: string): Promise<Answer> {
    this.waiting = Promise.withResolvers();
    this.socket.write(request);
    return this.waiting.promise;
  }

  close(): void {
    this.socket.destroy();
  }

  private receive(chunk: string): void {
    this.received += chunk;
    const answer = parseAnswer(this.received);
    if (!answer) return;
    const { waiting } = this;
    this.received = '';
    this.waiting = undefined;
    waiting?.resolve(answer);
  }
}

/** The response, once it is complete. A chunked body keeps its framing. */
function parseAnswer(text: string): Answer | undefined {
  const headEnd = text.indexOf(HEAD_END);
  if (headEnd === -1) return undefined;
  const head = text.slice(0, headEnd);
  const body = text.slice(headEnd + HEAD_END.length);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  const complete = length === undefined ? body.endsWith('0\r\n\r\n') : body.length >= Number(length);
  return complete ? { status: Number(head.slice('HTTP/1.1 '.length, 'HTTP/1.1 '.length + 3)), body } : undefined;
}

export interface RequestOptions {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: unknown;
}

/** The bytes of a request. */
export function renderRequest({ method = 'GET', path, headers = {}, body }: RequestOptions): string {
  const json = body === undefined ? '' : JSON.stringify(body);
  const all = {
    Host: 'localhost',
    ...headers,
    ...(body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': json.length }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}${HEAD_END}${json}`;
}
