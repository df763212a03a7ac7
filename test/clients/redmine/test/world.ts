import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { makeLocalParts, restartable, UNLIMITED_VARS } from '../../../reliability/restartable.ts';
import { freePort } from '../../../support/server.ts';
import { makeAutomation } from './automation.ts';
import { kill, makeRedmine, startPuma } from './instance.ts';
import { peopleOf } from './people.ts';
import { startRelay } from './relay.ts';
import { waitFor } from './wait-for.ts';

const ADAPTER = resolve(import.meta.dirname, '..');
const PSA_SECRET = `whsec_${btoa('what the PSA signs with, in a test')}`;
const WEBHOOK_SECRET = `whsec_${btoa('what the service signs with, there')}`;

/** For 14 hours of a day, its date is not that of UTC. */
const ORGANIZATION = {
  id: 'northwind',
  name: 'Northwind IT',
  timeZone: 'Pacific/Kiritimati',
  defaultHourlyRate: 120,
};

export type World = Awaited<ReturnType<typeof makeWorld>>;

/** Redmine as the PSA of a local service, with the adapter between them. */
export async function makeWorld() {
  const directory = await mkdtemp(join(tmpdir(), 'twb-redmine-'));
  const state = join(directory, 'redmine');
  await mkdir(state);
  const [redmine, { bundle, database }] = await Promise.all([makeRedmine(state), makeLocalParts()]);
  const { seed } = redmine;
  const receiverUrl = `http://127.0.0.1:${await freePort()}`;
  /** Between the adapter and Redmine. */
  const toRedmine = await startRelay(redmine.url);
  /** Between the service and the adapter. */
  const toReceiver = await startRelay(receiverUrl);
  const vars = { ...UNLIMITED_VARS, PSA_SECRET, WEBHOOK_URL: toReceiver.url, WEBHOOK_SECRET };
  const service = await restartable({ bundle, persistTo: database.persistTo, vars });
  /** Between the adapter and the service. */
  const toService = await startRelay(service.url.origin);
  const options = {
    cwd: ADAPTER,
    env: {
      ...process.env,
      REDMINE_URL: toRedmine.url,
      REDMINE_KEY: seed.keys.service,
      REDMINE_ADMIN_KEY: seed.keys.admin,
      REDMINE_IDS: JSON.stringify(seed.ids),
      ORGANIZATION: JSON.stringify(ORGANIZATION),
      SERVICE_URL: toService.url,
      PSA_SECRET,
      WEBHOOK_SECRET,
      SENT: join(directory, 'sent.json'),
      QUEUE: join(directory, 'queue'),
      REFUSED: join(directory, 'refused'),
      PAUSE: '5',
    },
  };
  let receiver: ChildProcess | undefined;
  let receiverErrors = '';
  const startReceiver = async () => {
    receiver = await startPuma('receive.ru', receiverUrl, options);
    receiver.stderr?.on('data', (chunk) => (receiverErrors += chunk));
  };
  const killReceiver = async () => {
    if (receiver) await kill(receiver);
  };
  const spawnSend = () => spawn('ruby', ['send.rb'], { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
  /** Runs send.rb. Resolves with the problems that it reported. */
  const send = async (): Promise<string> => {
    const child = spawnSend();
    const [problems, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    if ((code === 0) !== (problems === '')) throw new Error(`send.rb ended with ${code}: ${problems}`);
    return problems;
  };
  await Promise.all([redmine.start(), service.start(), startReceiver()]);
  const problems = await send();
  if (problems !== '') throw new Error(problems);
  const key = { persistTo: database.persistTo, organization: ORGANIZATION.id, administrator: seed.users.admin };

  return {
    seed,
    people: peopleOf(redmine),
    automation: await makeAutomation(service.url, key),
    toRedmine,
    toReceiver,
    toService,
    /** Where the receiver keeps the changes that Redmine refused. */
    refused: options.env.REFUSED,
    receiverErrors: () => receiverErrors,
    /** Waits until the receiver has written its queue into Redmine. */
    emptyQueue: () =>
      waitFor('an empty queue', async () => ((await readdir(options.env.QUEUE)).length === 0 ? true : undefined)),
    restartRedmine: () => redmine.kill().then(redmine.start),
    restartReceiver: () => killReceiver().then(startReceiver),
    restartService: () => service.kill().then(service.start),
    spawnSend,
    send,
    /** A call of the PSA that is not part of the adapter. */
    call: (type: string, data: object) =>
      post(
        new URL('/psa', service.url),
        PSA_SECRET,
        JSON.stringify({ type, data: { organization: ORGANIZATION.id, ...data } }),
      ),
    /** Delivers a page to the adapter once more. */
    redeliver: (body: string) => post(receiverUrl, WEBHOOK_SECRET, body),

    close: async () => {
      await killReceiver();
      await service.stop();
      await redmine.kill();
      await Promise.all([toRedmine, toReceiver, toService].map((relay) => relay.close()));
      await database.remove();
      await rm(directory, { recursive: true });
    },
  };
}

/** Posts a signed message; resolves with the status of the response. */
async function post(url: string | URL, secret: string, body: string): Promise<number> {
  const [id, at] = [`msg_${crypto.randomUUID()}`, new Date()];
  const headers = {
    'Content-Type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  };
  return (await fetch(url, { method: 'POST', headers, body })).status;
}

/** Prints a line when a check has passed. */
export type Check = (title: string, run: () => Promise<void>) => Promise<void>;
