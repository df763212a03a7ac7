import { once } from 'node:events';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import type { Change } from '../../../../src/domain/change.ts';
import { withLocalD1 } from '../../../../src/ops/local.ts';
import { type LocalParts, restartable, seed, UNLIMITED_VARS, writeTo } from '../../../reliability/restartable.ts';
import { WEBHOOK_SECRET } from '../../../support/receiver.ts';
import { freePort } from '../../../support/server.ts';
import { type SampleReceiver, startReceiver } from '../sample-receivers.ts';
import { startSlowPsa } from '../slow-psa.ts';

/** When a receiver is killed: during a create in the PSA, before the PSA answers, or before the service gets the 2xx. */
const MOMENTS = ['begun', 'stored', 'confirmed'] as const;
type Moment = (typeof MOMENTS)[number];

const WAIT_LIMIT_MS = 600_000;
const PSA_SECRET = `whsec_${btoa('the secret of a slow PSA, 32 byte')}`;

async function waitUntil(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const until = Date.now() + WAIT_LIMIT_MS;
  while (!(await isTrue())) {
    if (Date.now() > until) throw new Error(`${what}: not within ${WAIT_LIMIT_MS / 1000} s`);
    await setTimeout(10);
  }
}

/** A record that the service has acknowledged. */
interface Acknowledged {
  id: string;
  text: string;
}

/** The production bundle, and for each sample receiver an organization with a PSA that takes `delayMs` for each call. */
export async function makeSlowPsas(samples: readonly SampleReceiver[], delayMs: number, parts: LocalParts) {
  const { persistTo } = parts.database;
  const routes = new Map<string, (request: IncomingMessage, body: Buffer) => Promise<number>>();
  /** Passes each message on to its organization's receiver. */
  const relay = createServer((request: IncomingMessage, response: ServerResponse) => {
    const pass = async () => {
      const body = await buffer(request);
      const { data }: { data: { organization: string } } = JSON.parse(body.toString());
      response.writeHead((await routes.get(data.organization)?.(request, body)) ?? 404).end();
    };
    // The receiver does not run.
    pass().catch(() => request.socket.destroy());
  });
  const port = await freePort();
  await once(relay.listen(port, '127.0.0.1'), 'listening');
  const vars = { ...UNLIMITED_VARS, WEBHOOK_URL: `http://127.0.0.1:${port}/`, WEBHOOK_SECRET, PSA_SECRET };
  const service = await restartable({ bundle: parts.bundle, persistTo, vars });

  async function makeReceiver(
    sample: SampleReceiver,
    { organization, value: key }: { organization: string; value: string },
  ) {
    const directory = await mkdtemp(join(tmpdir(), 'twb-slow-psa-'));
    const psa = await startSlowPsa(delayMs);
    const receiverPort = await freePort();
    // A call that was cut off by a kill ends within this time.
    const variables = { WEBHOOK_SECRET, PSA_URL: psa.url, PAUSE: String((3 * delayMs) / 1_000) };
    const start = (more = {}, ...options: string[]) =>
      startReceiver(sample, directory, receiverPort, { ...variables, ...more }, options);
    let receiver = await start();
    let events = 0;
    /** The target ids that arrived under each `seq`. */
    const arrived = new Map<number, Set<string>>();
    let next: { moment: Moment; done: PromiseWithResolvers<void> } | undefined;
    const crashAt = (moment: Moment) => {
      if (next?.moment !== moment) return false;
      const { done } = next;
      next = undefined;
      receiver
        .kill()
        .then(() => start())
        .then((started) => {
          receiver = started;
          done.resolve();
        }, done.reject);
      return true;
    };
    psa.onCreate = async (moment) => void crashAt(moment);
    routes.set(organization, async ({ headers }, body) => {
      const { data }: { data: { changes: Change[] } } = JSON.parse(body.toString());
      for (const { seq, targetId } of data.changes) arrived.set(seq, (arrived.get(seq) ?? new Set()).add(targetId));
      const sent = Object.entries(headers).filter(([name]) => name.startsWith('webhook-'));
      const { status } = await fetch(receiver.url, {
        method: 'POST',
        headers: sent.map(([name, value]): [string, string] => [name, String(value)]),
        body,
      });
      if (crashAt('confirmed')) throw new Error('the answer is lost');
      return status;
    });
    return {
      language: sample.language,
      psa,
      arrived,
      /** Kills the receiver at that moment and starts it again. Resolves when it runs. */
      crash: (moment: Moment) => {
        next = { moment, done: Promise.withResolvers() };
        return next.done.promise;
      },
      /** Writes a note or, every second time, a time entry. The same event is the same Idempotency-Key. */
      write: async (event = ++events): Promise<Acknowledged> => {
        const [path, field, body] =
          event % 2 === 1
            ? (['notes', 'message', {}] as const)
            : (['time-entries', 'description', { minutes: event, billable: true }] as const);
        const text = `${path} of event ${event}`;
        const response = await writeTo(service, key, path, { ...body, [field]: text }, `event-${event}`);
        const answer = await response.json<{ note?: { id: string }; entry?: { id: string } }>();
        return { id: answer.note?.id ?? answer.entry?.id ?? '', text };
      },
      /** Waits until the PSA has `count` records and the queue is empty: every duplicate is written by then. */
      settled: async (count: number) => {
        await waitUntil(`${sample.language}: ${count} records`, () => psa.records.length >= count);
        const queued = async () =>
          (await readdir(join(directory, 'queue'), { recursive: true })).some((name) => name.endsWith('.json'));
        await waitUntil(`${sample.language}: an empty queue`, async () => !(await queued()));
      },
      /** Puts the database of the PSA back to before its latest records, and starts the receiver as its head says. */
      restorePsa: async (lost: number) => {
        await receiver.kill();
        psa.records.splice(-lost);
        const { origin } = new URL(service.url);
        receiver = await start({ SERVICE_URL: origin, PSA_SECRET }, '--replay', organization);
      },
      close: async () => {
        await receiver.kill();
        await psa.close();
        await rm(directory, { recursive: true });
      },
    };
  }
  const receivers: Awaited<ReturnType<typeof makeReceiver>>[] = [];
  const organizations = await withLocalD1(persistTo, async (db) => {
    const seeded = await seed(db, 1);
    // The PSA gets time before it is approved.
    await db.prepare("update organizations set approvals = 'psa'").run();
    return seeded;
  });
  for (const seeded of organizations) {
    const sample = samples[receivers.length];
    if (sample) receivers.push(await makeReceiver(sample, seeded));
  }
  await service.start();
  return {
    receivers,
    /** Ends the service, and keeps its database. Resolves with a function that puts the database back. */
    backUp: async () => {
      const database = join(persistTo, 'v3', 'd1');
      const copy = await mkdtemp(join(tmpdir(), 'twb-backup-'));
      await service.stop();
      await cp(database, copy, { recursive: true });
      await service.start();
      return async () => {
        await service.stop();
        await rm(database, { recursive: true });
        await cp(copy, database, { recursive: true });
        await rm(copy, { recursive: true });
        await service.start();
      };
    },
    close: async () => {
      await service.stop();
      await Promise.all(receivers.map((receiver) => receiver.close()));
      relay.close();
      relay.closeAllConnections();
    },
  };
}
export type Receiver = Awaited<ReturnType<typeof makeSlowPsas>>['receivers'][number];

/**
 * Makes `writes` writes while the receiver is killed `kills` times, at each moment in turn, with changes in its queue.
 * Resolves with the acknowledged records when the PSA has as many.
 */
export async function torture(receiver: Receiver, { writes, kills }: { writes: number; kills: number }) {
  const acknowledged: Acknowledged[] = [];
  const round = writes / kills;
  for (let kill = 0; kill < kills; kill++) {
    // The kills are spread over the whole run.
    await waitUntil('the round before', () => receiver.psa.records.length >= (kill - 1) * round);
    const crashed = receiver.crash(MOMENTS[kill % MOMENTS.length] ?? 'begun');
    while (acknowledged.length < (kill + 1) * round) acknowledged.push(await receiver.write());
    await crashed;
    // A create that was cut off must not count as the next moment.
    const { length } = receiver.psa.records;
    const expected = Math.min(length + 2, acknowledged.length);
    await waitUntil('a write after the kill', () => receiver.psa.records.length >= expected);
  }
  await receiver.settled(writes);
  return acknowledged;
}
