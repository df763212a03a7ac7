import { listDurableObjectIds, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { drizzle } from 'drizzle-orm/d1';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import type { Config } from '../../../src/config.ts';
import type { Change } from '../../../src/domain/change.ts';
import { parseWebhookSecrets } from '../../../src/domain/webhook.ts';
import { startModules } from '../../../src/module.ts';
import { pushControlOf } from '../../../src/modules/push/push-control.ts';
import { type PushRow, savePush } from '../../../src/modules/push/push-statements.ts';
import { MODULES } from '../../../src/modules.ts';
import { contributions } from '../../../src/startup.ts';
import { resultOf, work } from '../../support/psa-calls.ts';
import { Receiver, WEBHOOK_SECRET } from '../../support/receiver.ts';
import { asOperator, config, makeApi, makeKey, makeOrganization } from '../../support/world.ts';

export const WEBHOOK_URL = 'https://psa.example/push';
/** The configuration of an app that pushes. */
export const PUSH: NonNullable<Config['receiver']> = { url: WEBHOOK_URL, secrets: parseWebhookSecrets(WEBHOOK_SECRET) };

const PUSH_STATE: PushRow = {
  confirmedSeq: 0,
  failingSince: null,
  attempts: 0,
  failure: null,
  nextAttemptAt: null,
  stoppedAt: null,
};

/** Saves the state of a push, as its object does: one that has confirmed nothing, with these changes. */
export const setPush = (organizationId: string, changes: Partial<PushRow> = {}) =>
  savePush(drizzle(env.DB), { organizationId, ...PUSH_STATE, ...changes });

/** The context of an operator of a deployment that pushes. */
export const asPushOperator = (db = env.DB) => ({ ...asOperator(db), pushControl: pushControlOf(env.PUSHER) });

/** How the receiver answers a message: `receive` stores it. */
export type Answer = (receive: () => void, init: RequestInit) => Promise<Response> | Response;

/** An answer with this status, after storing the message if it confirms it. */
export const answering =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (receive) => {
    if (status < 300) receive();
    return new Response(status === 204 ? null : 'a body that nobody reads', { status, headers });
  };

/**
 * Turns the push on during the tests of a file, with a receiver in the place of `fetch`. Each
 * organization can have its own answer; 200 is the default. No alarm is left for the tests of another file.
 */
export function usePush() {
  const receiver = new Receiver();
  const answers = new Map<string, Answer>();
  const requests: { url: string; init: RequestInit }[] = [];
  let started: typeof contributions;
  beforeAll(() => {
    Object.assign(env, { WEBHOOK_URL, WEBHOOK_SECRET });
    // The entry point of adapters uses the modules of the deployment.
    const pushing = startModules(MODULES, { ...env }, config({ receiver: PUSH }));
    started = contributions.splice(0, contributions.length, ...pushing);
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init = {}) => {
      requests.push({ url: String(input), init });
      const body = String(init.body);
      const { data }: { data: { organization: string } } = JSON.parse(body);
      const answer = answers.get(data.organization) ?? answering(200);
      return answer(() => receiver.receive(Object.fromEntries(new Headers(init.headers)), body), init);
    });
  });
  afterAll(async () => {
    vi.useRealTimers();
    Object.assign(env, { WEBHOOK_URL: '', WEBHOOK_SECRET: '' });
    contributions.splice(0, contributions.length, ...started);
    // The wakes at the end of a second come, alarms that run end, and they may set another one.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    for (const id of await listDurableObjectIds(env.PUSHER))
      await runInDurableObject(env.PUSHER.get(id), (_, { storage }) => storage.deleteAlarm());
    vi.restoreAllMocks();
  });
  return { receiver, answers, requests };
}

export const waitFor = (check: () => unknown) => vi.waitFor(check, { interval: 5, timeout: 5_000 });

/** Waits until the row of an organization in the table of pushes has these columns. */
export const waitForRow = (organization: string, columns: object) =>
  waitFor(async () => expect(await pushRow(organization)).toMatchObject(columns));

/** An organization with a key, and an app that pushes its changes. */
export async function makePushed() {
  const organization = await makeOrganization({ approvals: 'psa' });
  const { value: key } = await makeKey(organization);
  return {
    organization,
    key,
    api: makeApi({ config: { receiver: PUSH } }),
    /** An app that does not wake the object. */
    quiet: makeApi({ config: { receiver: undefined } }),
  };
}

/** Something that another part of the test opens. Objects cannot await promises of a test. */
export function makeGate() {
  const gate = { isOpen: false, waiting: 0 };
  return {
    open: () => {
      gate.isOpen = true;
    },
    /** How many have waited. */
    waiting: () => gate.waiting,
    wait: async () => {
      gate.waiting += 1;
      while (!gate.isOpen) await new Promise((resolve) => setTimeout(resolve, 5));
    },
  };
}

/** The whole feed of an organization, page by page. */
export async function feedOf(organization: string): Promise<Change[]> {
  const changes: Change[] = [];
  let cursor: string | null = null;
  for (let more = true; more; ) {
    const page: { changes: Change[]; cursor: string | null; more: boolean } = resultOf(
      await work.changes(organization, cursor),
    );
    changes.push(...page.changes);
    ({ cursor, more } = page);
  }
  return changes;
}

/** Waits until the receiver has the whole feed of an organization, and nothing else. */
export async function expectDelivered(receiver: Receiver, organization: string): Promise<void> {
  const feed = await feedOf(organization);
  await vi.waitFor(() => expect(receiver.changesOf(organization)).toHaveLength(feed.length), {
    interval: 5,
    timeout: 10_000,
  });
  expect(receiver.changesOf(organization)).toEqual(feed);
  expect(receiver.problems.filter((problem) => problem.startsWith(`${organization}:`))).toEqual([]);
}

/** The row of an organization in the table of pushes. */
export const pushRow = (organization: string) =>
  env.DB.prepare('select * from pushes where organization_id = ?').bind(organization).first();

/** Lets the push job find no changes of other tests, of which there may be more than it wakes. */
export const pushOthers = (organization: string) =>
  env.DB.prepare(
    `insert into pushes (organization_id, confirmed_seq, attempts)
     select organization_id, max(seq), 0 from audit_log where organization_id <> ? group by organization_id
     on conflict do update set confirmed_seq = excluded.confirmed_seq`,
  )
    .bind(organization)
    .run();

/** What an object has stored, and when its alarm is due. */
export const storedBy = (organization: string) =>
  runInDurableObject(env.PUSHER.getByName(organization), async (_, { storage }) => ({
    state: storage.kv.get<Record<string, unknown>>('state'),
    alarm: await storage.getAlarm(),
  }));
