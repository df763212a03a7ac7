import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { contextOf, run } from '../../src/adapters/kit/adapter.ts';
import type { Context, Service } from '../../src/adapters/kit/context.ts';
import type { Psa } from '../../src/adapters/kit/psa.ts';
import type { Settings } from '../../src/adapters/kit/settings.ts';
import type { ApprovalDecision } from '../../src/domain/record-kinds.ts';
import type { CallResult } from '../../src/services/call-result.ts';
import { createApiKey } from '../../src/services/keys/create-key.ts';
import { enterByHand } from '../../src/services/work/enter-by-hand.ts';
import { decideTime } from '../../src/services/work/time-queue.ts';
import { allChanges, connectionOf } from '../support/psa-calls.ts';
import { asAdmin, BOTH_SCOPES, makeApi, rowsOf } from '../support/world.ts';
import type { MakeFake } from './fake.ts';

/**
 * What happens to a request. `lost`: it never arrives. `cut`: the connection ends, and it takes place 20 seconds later.
 * `unanswered`: it takes place, and the response is lost. `refused`: a 503 before it takes place. `failed`: a 503 after
 * it. `page`: it takes place, and a proxy answers with HTML. `killed`: it takes place, and the adapter is gone.
 * `killed_before`: it does not take place, and the adapter is gone.
 */
export const FAULTS = ['lost', 'cut', 'unanswered', 'refused', 'failed', 'page', 'killed', 'killed_before'] as const;
export type Fault = (typeof FAULTS)[number] | Response;

/**
 * What happens to a call of the service. `rejected`: the service does not respond. `unavailable`: the call has this result.
 * `slow`: its result comes two minutes later. `cut`: it takes effect, and the connection is lost.
 */
export const SERVICE_FAULTS = ['rejected', 'unavailable', 'slow', 'cut'] as const;
export type ServiceFault = (typeof SERVICE_FAULTS)[number];
const SLOW_MS = 2 * 60_000;

class Killed extends Error {}

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** How often the adapter runs. */
const EVERY_MS = 5_000;

let worlds = 0;

/** An adapter between an organization of its own and a fake PSA. Its clock is virtual: nothing waits. */
export function makeAdapterWorld(makeFake: MakeFake, changes: Partial<Settings> = {}, startAt = Date.now()) {
  let now = startAt;
  const clock = () => now;
  const fake = makeFake(clock);
  const organization = `adapter-${++worlds}-${crypto.randomUUID().slice(0, 8)}`;
  const settings: Settings = {
    ...{ ORGANIZATION: organization, ORGANIZATION_NAME: 'Northwind', TIME_ZONE: 'UTC', DEFAULT_HOURLY_RATE: 120 },
    ...{ TEST_TICKET: '501', RESUME: '', ...changes },
  };
  const later: { at: number; run: () => Promise<unknown> }[] = [];
  let isKilled = false;
  /** What the adapter has in memory, by the object. */
  const contexts = new Map<string, Context>();
  /** The clock and the network of the adapter: when it is killed, it can do nothing more. */
  const alive = () => {
    if (isKilled) throw new Killed();
    return now;
  };
  const object = (name: string) => env.RATE_LIMITER.getByName(`${organization} ${name}`);

  const world = {
    fake,
    data: fake.data,
    organization,
    settings,
    administrators: ['ada@northwind.example'],
    clock,
    /** Decides what happens to the next request. */
    onRequest: (_: Request): Fault | undefined | Promise<Fault | undefined> => undefined,
    /** Decides what happens to the next call of the service. */
    onCall: (_: keyof Service): ServiceFault | undefined => undefined,
    pass,
    /** Lets time pass in which the adapter is suspended. */
    suspend: (ms: number) => {
      now += ms;
    },
    /** Lets a long time pass in which the adapter is suspended, and then a minute in which it runs. */
    skip: async (ms: number) => {
      world.suspend(ms);
      await pass(60_000);
    },
    write,
    /** Deploys the adapter with another mapping of the PSA. */
    deploy: (psa: Psa) => {
      fake.psa = psa;
      contexts.clear();
    },
    /** What happens while a request to the API waits for its ticket. */
    onApiSleep: async (_: number): Promise<void> => undefined,
    // The limiter's clock is the real one.
    api: makeApi({
      now: clock,
      sleep: (ms: number): Promise<void> => world.onApiSleep(ms),
      config: { keyLimit: { quota: 10_000, windowMs: 1_000 } },
    }),
    key: '',
    makeKey: async (name = 'n8n') => {
      const admin = { ...asAdmin(organization, clock), actor: { organizationId: organization, userId: '1' } };
      const created = await createApiKey(admin, 'twb', { name, scopes: BOTH_SCOPES });
      world.key = created.value;
    },
    /** Another object, as after the loss of the storage or of a second Worker. */
    objectName: 'one',
    read: <T>(read: (kv: SyncKvStorage) => T) =>
      runInDurableObject(object(world.objectName), (_, { storage }) => read(storage.kv)),
    waiting: () => world.read((kv) => Array.from(kv.list({ prefix: 'waiting/' })).length),
  };

  async function advance(ms: number): Promise<void> {
    const end = now + ms;
    for (;;) {
      const [next] = later.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (!next) break;
      later.splice(later.indexOf(next), 1);
      now = Math.max(now, next.at);
      await next.run();
    }
    // Another timer may have ended later.
    now = Math.max(now, end);
  }

  async function fetch(request: Request): Promise<Response> {
    alive();
    await advance(30);
    const fault = await world.onRequest(request);
    if (fault === undefined) return fake.fetch(request);
    if (fault instanceof Response) return fault;
    const copy = request.clone();
    if (fault === 'cut') later.push({ at: now + 20_000, run: () => fake.fetch(copy) });
    else if (['unanswered', 'failed', 'page', 'killed'].includes(fault)) await fake.fetch(copy);
    if (fault.startsWith('killed')) {
      isKilled = true;
      contexts.clear();
      throw new Killed();
    }
    if (fault === 'refused' || fault === 'failed') return new Response('down', { status: 503 });
    if (fault === 'page') return new Response('<html>', { headers: { 'Content-Type': 'text/html' } });
    await advance(30_000);
    throw new TypeError('the connection was lost');
  }

  /** The service, whose calls may fail. */
  function serviceOf(): Service {
    const connection = connectionOf(organization, world.administrators);
    const guarded =
      <Args extends unknown[], Value>(name: keyof Service, call: (...args: Args) => Promise<CallResult<Value>>) =>
      async (...args: Args): Promise<CallResult<Value>> => {
        const fault = world.onCall(name);
        if (fault === 'rejected') throw new Error('The service did not respond.');
        if (fault === 'unavailable')
          return { ok: false, error: { code: 'unavailable', detail: 'The database is busy.', errors: [] } };
        const result = await call(...args);
        if (fault === 'slow') await advance(SLOW_MS);
        if (fault === 'cut') throw new Error('The connection was lost.');
        return result;
      };
    return {
      upsert: guarded('upsert', (records) => connection.upsert(records)),
      list: guarded('list', (type, cursor) => connection.list(type, cursor)),
      deactivate: guarded('deactivate', (records) => connection.deactivate(records)),
      changes: guarded('changes', (...args) => connection.changes(...args)),
      report: guarded('report', (...args) => connection.report(...args)),
      review: guarded('review', (...args) => connection.review(...args)),
      reportConnection: guarded('reportConnection', async (...args) => {
        const result = await connection.reportConnection(...args);
        // The clock of the entry point is the real one, and that of the API is not.
        const setTime = env.DB.prepare('update connections set reported_at = ?1 where organization_id = ?2');
        await setTime.bind(now, organization).run();
        return result;
      }),
    };
  }

  /** Runs the adapter for so long. */
  async function pass(ms: number): Promise<void> {
    const end = now + ms;
    while (now < end) {
      isKilled = false;
      await runInDurableObject(object(world.objectName), async (_, { storage }) => {
        const io = { now: alive, sleep: advance, fetch };
        const context = contexts.get(world.objectName) ?? contextOf(storage.kv, serviceOf(), settings, fake.psa, io);
        context.service = serviceOf();
        contexts.set(world.objectName, context);
        while (now < end) {
          // As in the object's alarm.
          const hasMore = await run(context).catch((err: unknown) => {
            if (isKilled) throw err;
            console.error(String(err));
            return false;
          });
          // A run may have taken longer: the clock never goes back.
          if (!hasMore) await advance(Math.max(0, Math.min(EVERY_MS, end - now)));
        }
      }).catch((err: unknown) => {
        if (!isKilled) throw err;
      });
    }
  }

  /** Writes a record through the API. Resolves with its status, and its id if it is new. */
  async function write(
    ticket: number,
    body: { message: string } | { minutes: number; description: string; billable: boolean; userEmail?: string },
    event: string = crypto.randomUUID(),
  ) {
    const path = `/api/v1/tickets/${ticket}/${'message' in body ? 'notes' : 'time-entries'}`;
    const response = await world.api.post(path, world.key, body, { 'Idempotency-Key': event });
    const { note, entry, code } = await response.json<{
      note?: { id: string };
      entry?: { id: string; status: string };
      code?: string;
    }>();
    const retryAfter = response.headers.get('Retry-After');
    return { status: response.status, id: note?.id ?? entry?.id ?? '', entryStatus: entry?.status, code, retryAfter };
  }

  return world;
}

export type AdapterWorld = ReturnType<typeof makeAdapterWorld>;

/** A world whose adapter has passed its connection test. */
export async function makeReadyWorld(...args: Parameters<typeof makeAdapterWorld>) {
  const world = makeAdapterWorld(...args);
  await world.pass(60_000);
  await world.makeKey();
  return world;
}

/** Has the adapter test time of a technician and of automations, as it otherwise does before the first entry. */
export async function proveTime(world: AdapterWorld): Promise<void> {
  for (const [credited, userId] of [
    ['technician', '2'],
    ['service', '9'],
  ] as const) {
    await world.read((kv) => kv.put(`timeToTest/${credited}`, { id: '', userId }));
    await world.pass(MINUTE_MS / 2);
  }
  world.data.removedTime = [];
}

export const [ADA, TESS] = ['ada@northwind.example', 'tess@northwind.example'];
export const time = (description: string, minutes = 15, userEmail = TESS) => ({
  ...{ minutes, description, billable: true, userEmail },
});
/** Refuses new time of Ada, in every API. */
export const refuseAda = async (request: Request) =>
  request.method === 'POST' && /"(user_id|who_agentid)":1\b|"member":{"id":1}/.test(await request.clone().text())
    ? new Response('{}', { status: 400 })
    : undefined;
export const isWrite = ({ method }: Request) => method !== 'GET';

/** The notes in the PSA: ticket, text and whether customers cannot see it. */
export const notesOf = ({ data, fake }: AdapterWorld) =>
  data.notes.map(({ ticket, text, isPrivate }) => [ticket, fake.plain(text), isPrivate]);

export const connectionRow = async ({ organization }: AdapterWorld) => (await rowsOf('connections', organization))[0];

/** The outcomes that the adapter reported, with their reasons. */
export const reportsOf = async ({ organization }: AdapterWorld) =>
  (await allChanges(organization)).flatMap(({ action, detail }) =>
    /\.(refused|taken)$/.test(action) ? [`${action} ${detail?.text ?? ''}`.trim()] : [],
  );

/** The code of the answer to a note for a ticket. */
export const statusOf = async (world: AdapterWorld, ticket: number) =>
  (await world.write(ticket, { message: 'Is this possible?' })).code ?? 'written';

export function resume(world: AdapterWorld, order: string): void {
  world.settings.RESUME = order;
}

/** The same PSA without an approval of time. */
export const withoutReviews =
  (makeFake: MakeFake): MakeFake =>
  (clock) => {
    const fake = makeFake(clock);
    const { reviews: _, ...psa } = fake.psa;
    return { ...fake, psa };
  };

/** Decides about time in the settings area, as the administrator. */
export const decide = ({ organization, clock }: AdapterWorld, decision: ApprovalDecision, ids: readonly string[]) =>
  decideTime({ ...asAdmin(organization, clock), actor: { organizationId: organization, userId: '1' } }, ids, decision);

/** Says, as the administrator, that time was entered in the PSA by hand, or that its redacted text was removed there. */
export const enter = ({ organization, clock }: AdapterWorld, id: string, isRedacted = false) =>
  enterByHand(
    { ...asAdmin(organization, clock), actor: { organizationId: organization, userId: '1' } },
    id,
    isRedacted,
  );

/** The texts of the time in the PSA, in their order. */
export const timesOf = ({ data, fake }: AdapterWorld) => data.entries.map(({ text }) => fake.plain(text)).sort();

/** Approves all time in the PSA. */
export function approve(world: AdapterWorld, reviewer: string): void {
  for (const entry of world.data.entries)
    Object.assign(entry, { decision: { status: 'APPROVED', reviewer }, updatedAt: world.data.now() });
}
