import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { exportChanges } from '../../../../src/ops/export-changes.ts';
import { withLocalD1 } from '../../../../src/ops/local.ts';
import { operatorContext } from '../../../../src/ops/open-database.ts';
import { type LocalParts, restartable, seed, UNLIMITED_VARS, writeTo } from '../../../reliability/restartable.ts';
import { Receiver, WEBHOOK_SECRET } from '../../../support/receiver.ts';
import { freePort } from '../../../support/server.ts';

/** What goes wrong with one delivery, and who dies at which moment. */
export const FAULTS = [
  'the service dies before the receiver has read the message',
  'the service dies before the receiver stores the page',
  'the service dies after the receiver has stored the page, before its response',
  'the service dies right after the response',
  'the service dies a moment after the response',
  'the service dies right after a write was acknowledged',
  'the receiver dies before it stores the page',
  'the receiver dies after it has stored the page',
  'the receiver is down for a while',
  'the receiver answers 500',
  'the receiver answers 500 after it has stored the page',
  'the receiver does not respond in time',
] as const;
export type Fault = (typeof FAULTS)[number];

const DELIVERY_LIMIT_MS = 60_000;

/** What a run found. */
interface PushCrashRun {
  deliveries: number;
  /** Messages whose id the receiver had already. */
  duplicates: number;
  changes: number;
  /** What is missing, out of order or different, in words. */
  problems: string[];
}

/**
 * Lets the production bundle in workerd push to an HTTP receiver, and kills one of them at the given
 * moments, one after the other. Each fault hits a delivery of the first organization, while the other
 * organization has none. At the end both sides are compared, change by change.
 */
export async function pushCrash(faults: readonly Fault[], { database, bundle }: LocalParts): Promise<PushCrashRun> {
  const receiver = new Receiver();
  const problems: string[] = [];
  const port = await freePort();
  const vars = { ...UNLIMITED_VARS, WEBHOOK_URL: `http://127.0.0.1:${port}/push`, WEBHOOK_SECRET };
  const service = await restartable({ bundle, persistTo: database.persistTo, vars });
  const [first, second] = await withLocalD1(database.persistTo, (db) => seed(db, 1));
  if (!first || !second) throw new Error('two organizations are needed');

  /** The fault of the next delivery of the first organization. */
  let next: Fault | undefined;
  /** Ends when the fault has happened, and the service runs again if it died. */
  let happened = Promise.withResolvers<void>();
  const kill = async () => {
    await service.kill();
    await service.start();
    happened.resolve();
  };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const fault = next;
    if (fault === 'the service dies before the receiver has read the message') {
      next = undefined;
      return kill();
    }
    const body = await text(request);
    const store = () => receiver.receive(headersOf(request), body);
    const confirm = () => response.writeHead(204).end();
    const { data }: { data: { organization: string } } = JSON.parse(body);
    if (fault === undefined || data.organization !== first.organization) {
      store();
      return confirm();
    }
    next = undefined;
    switch (fault) {
      case 'the service dies before the receiver stores the page':
        return kill();
      case 'the service dies after the receiver has stored the page, before its response':
        store();
        return kill();
      case 'the service dies right after the response':
      case 'the service dies a moment after the response':
        store();
        confirm();
        await setTimeout(fault === 'the service dies right after the response' ? 0 : 3 + 20 * Math.random());
        return kill();
      case 'the receiver answers 500':
        response.writeHead(500).end('no');
        break;
      case 'the receiver answers 500 after it has stored the page':
        store();
        response.writeHead(500).end('no');
        break;
      case 'the receiver dies after it has stored the page':
        store();
        request.socket.destroy();
        break;
      case 'the receiver does not respond in time':
        store();
        break;
      default:
        request.socket.destroy();
    }
    happened.resolve();
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((err: unknown) => problems.push(`the receiver failed: ${err}`));
  });
  const listen = () => once(server.listen(port, '127.0.0.1'), 'listening');
  await listen();

  /** Writes a note. Returns when it is acknowledged. */
  const write = async (key: string, message: string) => {
    await writeTo(service, key, 'notes', { message }, message.replaceAll(/\W/g, '-'));
    written.set(key, (written.get(key) ?? 1) + 1);
  };
  /** How many changes each organization has: one for its key, and one for each note. */
  const written = new Map<string, number>();
  const isComplete = ({ organization, value }: typeof first) =>
    receiver.changesOf(organization).length === (written.get(value) ?? 1);
  const waitUntil = async (what: string, isTrue: () => boolean) => {
    const until = Date.now() + DELIVERY_LIMIT_MS;
    while (!isTrue()) {
      if (Date.now() > until) throw new Error(`${what}: not delivered within ${DELIVERY_LIMIT_MS / 1000} s`);
      await setTimeout(5);
    }
  };

  await service.start();
  try {
    for (const [index, fault] of faults.entries()) {
      happened = Promise.withResolvers<void>();
      if (fault === 'the receiver is down for a while') {
        server.close();
        server.closeAllConnections();
        await write(first.value, `note ${index} while the receiver is down`);
        await setTimeout(200);
        await listen();
      } else if (fault === 'the service dies right after a write was acknowledged') {
        await write(first.value, `note ${index} and then the service dies`);
        await kill();
      } else {
        next = fault;
        await write(first.value, `note ${index}, first`);
        await happened.promise;
      }
      // What is written meanwhile must not change the page that is being repeated.
      await write(first.value, `note ${index}, second`);
      await write(second.value, `note ${index} of the other organization`);
      await waitUntil(`${fault}, the other organization`, () => isComplete(second));
      await waitUntil(fault, () => isComplete(first));
    }
  } finally {
    await service.stop();
    server.close();
    server.closeAllConnections();
  }

  const organizations = [first.organization, second.organization];
  const feeds = await withLocalD1(database.persistTo, (db) =>
    Promise.all(organizations.map((organization) => feedOf(db, organization))),
  );
  for (const [index, organization] of organizations.entries()) {
    const received = receiver.changesOf(organization).map((change) => `${JSON.stringify(change)}\n`);
    if (received.join('') !== feeds[index])
      problems.push(`${organization}: the receiver has ${received.length} changes, and they are not the feed`);
    for (const { id, isHalf } of receiver.overlapsOf(organization))
      if (!isHalf) problems.push(`${organization}: the changes of ${id} came under another id before`);
  }
  const ids = receiver.deliveries.map(({ id }) => id);
  return {
    deliveries: ids.length,
    duplicates: ids.length - new Set(ids).size,
    changes: organizations.flatMap((organization) => receiver.changesOf(organization)).length,
    problems: [...problems, ...receiver.problems],
  };
}

function headersOf(request: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
}

/** The whole feed of an organization, as lines of JSON. */
async function feedOf(db: D1Database, organization: string): Promise<string> {
  let lines = '';
  const context = () => operatorContext(db);
  await exportChanges(context, organization, null, async (more) => (lines += more));
  return lines;
}
