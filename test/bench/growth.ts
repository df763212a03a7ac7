import * as z from 'zod';
import { hashKey, type Principal } from '../../src/domain/api-key.ts';
import { DAY_MS } from '../../src/domain/calendar.ts';
import { SCOPE_IDS } from '../../src/domain/scopes.ts';
import { forgetOldDays } from '../../src/services/forget.ts';
import { createApiKey } from '../../src/services/keys/create-key.ts';
import { findKey } from '../../src/services/keys/find-key.ts';
import type {
  ActorContext,
  AdminActor,
  ServiceContext,
  SystemActor,
  WriteContext,
} from '../../src/services/service-context.ts';
import { createNote, createTimeEntry } from '../../src/services/work/create-record.ts';
import { listChanges } from '../../src/services/work/list-changes.ts';
import { setApproval } from '../../src/services/work/record-verbs.ts';
import { countD1, type D1Call } from '../support/d1.ts';
import { randomNumbers, randomTexts } from './random-texts.ts';

// Years of writes with a driven clock: automations write, the PSA reads the changes, and an administrator
// approves the time entries that it read.

/** What is simulated. The load is the real one; of `scale` writes, one is made. */
export const growthPlan = z.object({
  months: z.int(),
  organizations: z.int(),
  /** Writes of one organization in a month of 30 days: by turns a note and a time entry. */
  writesPerMonth: z.int(),
  scale: z.int(),
  noteCharacters: z.int(),
  entryCharacters: z.int(),
});
export type GrowthPlan = z.output<typeof growthPlan>;

/** The state at the end of a month. */
export const monthEnd = z.object({
  month: z.int(),
  writes: z.int(),
  /** By the writes and the reviews. */
  rowsWritten: z.int(),
  databaseBytes: z.int(),
});
export type MonthEnd = z.output<typeof monthEnd>;

/** A write and its response. */
export interface Acknowledged {
  principal: Principal;
  kind: 'note' | 'time_entry';
  ticketId: string;
  idempotencyKey: string;
  text: string;
  /** The id of its record, once it has one. */
  id: string;
  /** What the response says of the record, as JSON, except for its status, which changes. */
  response: string;
}

/** The days of a simulated month. */
export const GROWTH_MONTH_DAYS = 30;
const HOUR_MS = 3_600_000;
const FIRST_TICKET = 100_000;
const KEYS_EACH = 2;
const TICKETS_EACH = 20;
const START = Date.UTC(2027, 0, 4);
const USER_AGENTS = ['n8n', 'python-requests/2.32.3'];

interface Organization {
  id: string;
  principals: Principal[];
  cursor: string | null;
}

/** The simulated years, one month after the other. */
export class Growth {
  readonly acknowledged: Acknowledged[] = [];
  private readonly random = randomNumbers(1);
  private readonly text = randomTexts(this.random);
  private month = 0;
  private readonly db: D1Database;
  private readonly calls: readonly D1Call[];
  private readonly plan: GrowthPlan;
  private readonly organizations: Organization[];
  private constructor(db: D1Database, plan: GrowthPlan, organizations: Organization[]) {
    ({ db: this.db, calls: this.calls } = countD1(db));
    this.plan = plan;
    this.organizations = organizations;
  }

  /** Begins on a migrated database that holds the `directoryOf` the plan. */
  static async begin(db: D1Database, plan: GrowthPlan): Promise<Growth> {
    const organizations = await Promise.all(
      organizationsOf(plan).map(async (id) => {
        const keys = Array.from({ length: KEYS_EACH }, (_, index) => makeKey(db, id, `Key ${index}`));
        return { id, principals: await Promise.all(keys), cursor: null };
      }),
    );
    return new Growth(db, plan, organizations);
  }

  /** The time of the simulation. */
  get now(): number {
    return START + this.month * GROWTH_MONTH_DAYS * DAY_MS;
  }

  /** How far the PSA of each organization has read. */
  get readTo(): readonly { organization: string; cursor: string | null }[] {
    return this.organizations.map(({ id, cursor }) => ({ organization: id, cursor }));
  }

  async state(): Promise<MonthEnd> {
    const { meta } = await this.db.prepare('select 1').run();
    return {
      month: this.month,
      writes: this.acknowledged.length,
      rowsWritten: this.calls.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0),
      databaseBytes: meta.size_after,
    };
  }

  /**
   * All writes of a month come on its first day: spread over the month, the few that the scale leaves
   * would each have a day of the ledger of their own.
   */
  async runMonth(): Promise<void> {
    const day = this.now;
    const writes = Math.round(this.plan.writesPerMonth / this.plan.scale);
    await Promise.all(
      this.organizations.map(async (organization) => {
        for (let number = 0; number < writes; number++)
          await this.write(organization, day + Math.floor((8 + this.random() * 10) * HOUR_MS));
        organization.cursor = await readAndApprove(this.db, organization, day + 20 * HOUR_MS);
      }),
    );
    this.month += 1;
    await forgetOldDays(context(this.db, this.now));
  }

  private async write({ principals, id: organization }: Organization, at: number): Promise<void> {
    const index = Math.floor(this.random() * KEYS_EACH);
    const principal = principals[index];
    if (!principal) throw new Error(`${organization} has no key ${index}`);
    const kind = this.acknowledged.length % 2 === 0 ? 'note' : 'time_entry';
    const write: Acknowledged = {
      principal,
      kind,
      ticketId: String(FIRST_TICKET + Math.floor(this.random() * TICKETS_EACH)),
      idempotencyKey: `alert:${crypto.randomUUID()}`,
      text: this.text(kind === 'note' ? this.plan.noteCharacters : this.plan.entryCharacters),
      id: '',
      response: '',
    };
    this.acknowledged.push(write);
    const { id, response, replayed } = await send(context(this.db, at), write, USER_AGENTS[index]);
    if (replayed) throw new Error(`a new write was answered as the replay of ${id}`);
    Object.assign(write, { id, response });
  }
}

/** The directory of a plan, as a file that `directory:import` takes. */
export function directoryOf(plan: GrowthPlan): string {
  const tickets = Array.from({ length: TICKETS_EACH }, (_, index) => String(FIRST_TICKET + index));
  const records = organizationsOf(plan).flatMap((organization) => [
    { type: 'organization', id: organization, name: organization, timeZone: 'UTC', psa: true, defaultHourlyRate: 120 },
    { type: 'user', organization, id: 'ada', name: 'Ada Admin', admin: true, email: `ada@${organization}.example` },
    { type: 'company', organization, id: 'acme', name: 'Acme' },
    ...tickets.map((id) => ({ type: 'ticket', organization, id, company: 'acme' })),
  ]);
  return records.map((record) => JSON.stringify(record)).join('\n');
}

const organizationsOf = (plan: GrowthPlan) =>
  Array.from({ length: plan.organizations }, (_, index) => `msp-${index + 1}`);

/** Makes a write, for the first time or again. */
export async function send(
  ctx: ServiceContext,
  { principal, kind, ticketId, idempotencyKey, text }: Acknowledged,
  userAgent: string | null = null,
) {
  const asKey: WriteContext = {
    ...ctx,
    actor: principal,
    source: { address: '203.0.113.25', userAgent },
    dayLimits: { key: null, organization: null },
    onKeyDay: () => undefined,
  };
  const target = { ticketId, idempotencyKey };
  if (kind === 'note') {
    const { row, ...outcome } = await createNote(asKey, target, { message: text });
    return { ...outcome, id: row.id, response: JSON.stringify([row.id, row.createdAt]) };
  }
  const { row, ...outcome } = await createTimeEntry(asKey, target, { minutes: 15, description: text, billable: true });
  const { id, minutes, workDate, billable, hourlyRateMinor, userId, agreementSource } = row;
  const response = JSON.stringify([id, minutes, workDate, billable, hourlyRateMinor, userId, agreementSource]);
  return { ...outcome, id, response };
}

/** The context of a service at a time of the simulation. */
export function context(db: D1Database, at: number): ServiceContext {
  return { db, now: () => at, deadlineAt: Date.now() + 60_000, requestId: crypto.randomUUID() };
}

const systemContext = (db: D1Database, at: number): ActorContext<SystemActor> => ({
  ...context(db, at),
  actor: 'psa',
  source: { address: null, userAgent: null },
});

/** Reads all changes after the last ones as the PSA does, and approves their new time entries. */
async function readAndApprove(
  db: D1Database,
  { id: organization, cursor: last }: Organization,
  at: number,
): Promise<string | null> {
  let cursor = last;
  for (let more = true; more; ) {
    const page = await listChanges(context(db, at), { organization, cursor });
    for (const { action, targetId: entry } of page.changes) {
      if (action !== 'time_entry.created') continue;
      await setApproval(systemContext(db, at), { organization, entry, decision: 'APPROVED', reviewer: 'ada' });
    }
    ({ cursor, more } = page);
  }
  return cursor;
}

async function makeKey(db: D1Database, organizationId: string, name: string): Promise<Principal> {
  const ctx: ActorContext<AdminActor> = {
    ...context(db, START),
    actor: { organizationId, userId: 'ada' },
    source: { address: null, userAgent: null },
  };
  const { value } = await createApiKey(ctx, 'bench', { name, scopes: [...SCOPE_IDS] });
  const found = await findKey(ctx, await hashKey(value));
  if (!found) throw new Error(`the new key of ${organizationId} was not found`);
  return found;
}
