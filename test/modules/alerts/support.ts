import { env } from 'cloudflare:workers';
import { Webhook } from 'standardwebhooks';
import { vi } from 'vitest';
import { FACTS, type FactKind } from '../../../src/domain/facts.ts';
import { startModules } from '../../../src/module.ts';
import type { AlertConfig } from '../../../src/modules/alerts/outlets.ts';
import { findDailyAlerts, sendUrgentAlerts } from '../../../src/modules/alerts/run.ts';
import { MODULES } from '../../../src/modules.ts';
import { WEBHOOK_SECRET } from '../../support/receiver.ts';
import { asOperator, config } from '../../support/world.ts';
import { PUSH, WEBHOOK_URL } from '../push/support.ts';

const ALERT_URL = 'https://chat.example/hooks/a-token';
const SERVICE_URL = 'https://tickets.example';

/** A message with an alert. */
export interface AlertMessage {
  id: string;
  type: string;
  timestamp: string;
  data: { organization: string | null; text: string };
}

/** How an address answers; `receive` stores the message. */
type Answer = (receive: () => void, body: string) => Response | Promise<Response>;
export const accept: Answer = (receive) => {
  receive();
  return new Response(null, { status: 204 });
};

/** Takes the place of `fetch`: a receiver that verifies, and a chat. Both accept everything at first. */
export function startAddresses() {
  const addresses = {
    /** What the receiver has stored, repetitions included. */
    messages: [] as AlertMessage[],
    /** The lines that the chat has shown. */
    lines: [] as string[],
    /** How many requests each address got. */
    attempts: { push: 0, chat: 0 },
    push: accept,
    chat: accept,
    reset() {
      Object.assign(addresses, { messages: [], lines: [], attempts: { push: 0, chat: 0 }, push: accept, chat: accept });
    },
    stop: () => spy.mockRestore(),
  };
  const spy = vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, { body: raw, headers, redirect } = {}) => {
    const [url, body] = [String(input), String(raw)];
    if (redirect !== 'manual') throw new Error('a redirect would be followed');
    if (url === ALERT_URL) {
      addresses.attempts.chat += 1;
      const { text, ...more }: { text: string } = JSON.parse(body);
      if (Object.keys(more).length > 0) throw new Error('a text has other fields');
      return addresses.chat(() => addresses.lines.push(text), body);
    }
    if (url !== WEBHOOK_URL) throw new Error(`nothing is at ${url}`);
    addresses.attempts.push += 1;
    const sent = Object.fromEntries(new Headers(headers));
    new Webhook(WEBHOOK_SECRET).verify(body, sent);
    return addresses.push(() => addresses.messages.push({ id: sent['webhook-id'] ?? '', ...JSON.parse(body) }), body);
  });
  return addresses;
}

const configured = (changes: Partial<AlertConfig>): AlertConfig => ({
  ...config({ receiver: PUSH, serviceUrl: SERVICE_URL }),
  alertUrl: ALERT_URL,
  ...changes,
});

/** What all modules contribute. */
const FACTS_OF_MODULES = startModules(MODULES, { ...env }, config()).flatMap(({ facts = [] }) => facts);

const KINDS = [FACTS, ...FACTS_OF_MODULES.map(({ kinds }) => kinds)].flatMap((kinds) =>
  Object.entries<FactKind>(kinds),
);
/** The types of all facts. */
export const TYPES = KINDS.map(([type]) => type);

/** The type of the fact that a line is about, by its advice. */
export const typeOf = (line: string) => KINDS.find(([, { advice }]) => line.includes(advice))?.[0] ?? line;
/** The key that a line is about: that of its link. */
export const keyOf = (line: string) => /\/keys\/([\w-]+)$/.exec(line)?.[1];

const jobContext = (now: number, db = env.DB, facts = FACTS_OF_MODULES) => ({
  ...asOperator(db, () => now),
  databaseLimit: config().databaseLimit,
  facts,
});
type JobOptions = [db?: D1Database, facts?: typeof FACTS_OF_MODULES];

/** Runs what the cron runs every five minutes. */
export const runAlerts = (now: number, changes: Partial<AlertConfig> = {}, ...options: JobOptions) =>
  sendUrgentAlerts(configured(changes), jobContext(now, ...options));

/** Runs what the cron runs once a day, before the next of the runs of every five minutes. */
export const runDailyAlerts = (now: number, changes: Partial<AlertConfig> = {}, ...options: JobOptions) =>
  findDailyAlerts(configured(changes), jobContext(now, ...options));

/** Forgets all alerts, and leaves no organization of an earlier test active. */
export async function forgetAlerts(): Promise<void> {
  await env.DB.batch(['delete from alerts', 'update organizations set active = 0'].map((sql) => env.DB.prepare(sql)));
}
