import * as z from 'zod';
import { DAY_MS, dateIn, startOfDate } from '../../domain/calendar.ts';
import {
  type DirectoryItem,
  type Psa,
  PsaFault,
  type PsaRecord,
  type PsaTime,
  type Send,
  type Shown,
  timeField,
} from '../kit/psa.ts';

// HaloPSA, REST API. The paths, parameters and fields of requests are those of its OpenAPI document. It describes no
// response: the shapes of these are what clients read.

export interface HaloSettings {
  timeZone: string;
  /** Such as https://northwind.halopsa.com */
  url: string;
  /** The name of the tenant, where Halo hosts several. */
  tenant?: string | undefined;
  clientId: string;
  clientSecret: string;
  /** The id of the agent on whom automations book time by default. */
  automationAgent: number;
  /** The name of the outcome of notes and of time: one, so that the connection test is about both. */
  outcome: string;
  /** The ids of charge types. They decide what Halo bills; 0 is "No Charge". Without one, Halo takes its default. */
  charge: { billable: number | undefined; notBillable: number };
}

const PAGE = 100;
/** More than any ticket has: a list of actions has no pages. */
const MAX_ACTIONS = 10_000;
/** How many time entries a request reads, unless one day has more. */
const TIME_PAGE = 1_000;
/** How long a closed ticket can be written to after its last change. */
const CLOSED_MS = 30 * DAY_MS;
const REVIEWED_MS = 60 * DAY_MS;

const id = z.int();
const flag = z.boolean().nullish();
const text = z.string().nullish();
const agent = z.object({ id, name: z.string(), email: text, isdisabled: flag, isapiagent: flag });
const client = z.object({ id, name: z.string() });
const ticket = z.object({ id, client_id: id });
const action = z.object({
  ...{ id, ticket_id: id, guid: text, note: text, note_html: text, actreviewed: flag },
  ...{ hiddenfromuser: flag, emailto: text, emailcc: text, emailbcc: text },
  ...{ who: text, who_agentid: z.int().nullish(), datetime: text, timetaken: z.number().nullish() },
  chargerate: z.int().nullish(),
});
type Action = z.output<typeof action>;
const created = z.object({ id });
const fault = z.object({ error: z.string() });
/** A list, and how many items there are on all pages. */
const listOf = <Name extends string, Item>(name: Name, item: z.ZodType<Item>) =>
  z.intersection(z.object({ record_count: z.int() }), z.record(z.literal(name), z.array(item)));

const escaped = (plain: string) => plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** A time of Halo, which is in UTC if it has no zone. */
function instantOf(time: string | null | undefined): number | undefined {
  if (!time) return undefined;
  const at = Date.parse(/(Z|[+-]\d\d:?\d\d)$/i.test(time) ? time : `${time}Z`);
  return Number.isNaN(at) ? undefined : at;
}

const seconds = (at: number | undefined) => at !== undefined && `${new Date(at).toISOString().slice(0, 19)}Z`;
const CHARGE_REPAIR = 'Turn on “Charge type will override ticket default” in the outcome.';

/** The ids of actions begin again in each ticket. */
const idOf = (ticketId: string | number, actionId: number) => `${ticketId}/${actionId}`;
const actionIdOf = (psaId: string) => Number(psaId.split('/')[1]);

export function halo(settings: HaloSettings): Psa {
  const { automationAgent, outcome, charge } = settings;
  let token = '';

  const agents = (send: Send) => {
    const query = { includeenabled: 'true', includeapiagents: 'true' };
    return send({ method: 'GET', path: '/api/Agent', query, response: z.array(agent) });
  };

  /**
   * The pages of a list in the order of ids, from the last to the first: a record that disappears moves those of later
   * pages only, which were read. After one was added, the next page is read again, because the last of this page moved there.
   */
  async function* pages<Name extends string, Item>(
    send: Send,
    [path, name, shape]: [string, Name, z.ZodType<Item>],
    query: Record<string, string>,
  ): AsyncGenerator<Item[]> {
    const response = listOf(name, shape).transform((body) => ({ items: body[name], count: body.record_count }));
    const read = async (page: number) => {
      const range = { pageinate: 'true', page_size: String(PAGE), page_no: String(page), order: 'id' };
      const found = await send({ method: 'GET', path, query: { ...query, ...range }, response });
      if (found.items.length < Math.min(PAGE, found.count - (page - 1) * PAGE))
        throw new PsaFault('later', `GET ${path} lists ${found.items.length} on page ${page} of ${found.count}`);
      return found;
    };
    const first = await read(1);
    if (first.count <= PAGE) yield first.items;
    else
      for (let page = Math.ceil(first.count / PAGE), { count } = first; page > 0; page--) {
        const found = await read(page);
        yield found.items;
        if (found.count > count) page += 2;
        ({ count } = found);
      }
  }

  const listActions = (send: Send, count: number, query: Record<string, string>) => {
    const range = { count: String(count), excludesys: 'true' };
    const response = listOf('actions', action);
    return send({ method: 'GET', path: '/api/Actions', query: { ...query, ...range }, response });
  };

  /** A list that is not complete must not look as if an action were missing. */
  const complete = ({ actions, record_count: count }: z.output<ReturnType<typeof listOf<'actions', Action>>>) => {
    if (actions.length >= count) return actions;
    throw new PsaFault('later', `GET /api/Actions lists ${actions.length} of ${count}`);
  };

  /** The time entries of a range. A list has no pages, so a range with too many is read in halves, at least a day long. */
  async function timeBetween(send: Send, start: number, end: number): Promise<Action[]> {
    const range = { startdate: new Date(start).toISOString(), enddate: new Date(end).toISOString() };
    const query = { actoutcome: outcome, timeentriesonly: 'true', ...range };
    const found = await listActions(send, TIME_PAGE, query);
    if (found.actions.length >= found.record_count) return found.actions;
    if (end - start <= DAY_MS) return complete(await listActions(send, found.record_count, query));
    const middle = Math.floor((start + end) / 2);
    return [...(await timeBetween(send, start, middle)), ...(await timeBetween(send, middle, end))];
  }

  /** Creates an action; with an id, changes it. It is hidden from the customer, sends no mail, and starts no rule. */
  const write = (send: Send, record: PsaRecord, fields: object) => {
    const body = {
      ticket_id: Number(record.ticketId),
      // In `pre` line breaks stay.
      note_html: `<pre style="white-space: pre-wrap">\n${escaped(record.text)}\n</pre><p>${record.mark}</p>`,
      // A rule could call the automation that wrote the action.
      ...{ hiddenfromuser: true, sendemail: false, send_survey: false, dont_do_rules: true, ...fields },
    };
    const response = z.union([created, z.tuple([created]).transform(([one]) => one)]);
    return send({ method: 'POST', path: '/api/Actions', body: [body], response });
  };

  /** The time begins when it ends with the writing of the record, unless that would be on the day before. */
  const timeBody = ({ minutes, userId, billable, workDate, createdAt }: PsaTime) => {
    const day = startOfDate(workDate.slice(0, 10), settings.timeZone);
    const agentId = /^\d+$/.test(userId) ? Number(userId) : automationAgent;
    const chargerate = billable ? charge.billable : charge.notBillable;
    const start = Math.max(Date.parse(createdAt) - minutes * 60_000, day);
    const [datetime, end] = [new Date(start).toISOString(), new Date(start + minutes * 60_000).toISOString()];
    return {
      ...{ datetime, actionarrivaldate: datetime, actioncompletiondate: end },
      // In hours.
      timetaken: minutes / 60,
      ...{ who_agentid: agentId, actionby_agent_id: agentId },
      ...(chargerate !== undefined && { chargerate, actisbillable: billable }),
    };
  };

  const shown = (record: PsaRecord, found: Action): Shown => ({
    psaId: idOf(record.ticketId, found.id),
    author: found.who_agentid ? String(found.who_agentid) : (found.who ?? ''),
    isPrivate: found.hiddenfromuser === true && !found.emailto && !found.emailcc && !found.emailbcc,
    fields: record.kind === 'time_entry' ? fieldsOf(record, found) : [],
  });
  const fieldsOf = (record: PsaTime, { who_agentid, datetime, timetaken, chargerate, actreviewed }: Action) => {
    const sent = timeBody(record);
    const start = instantOf(datetime);
    const day = start === undefined ? undefined : dateIn(settings.timeZone, start);
    return [
      timeField('technician', sent.who_agentid, who_agentid, 'Let the agent add time for other agents.'),
      timeField('date', record.workDate.slice(0, 10), day, 'Check TIME_ZONE.'),
      timeField('minutes', record.minutes, Math.round(60 * (timetaken ?? 0)), 'Turn off the rounding of time.'),
      timeField('start', seconds(instantOf(sent.datetime)), seconds(start), 'Check the time zone of HaloPSA.'),
      ...(sent.chargerate === undefined ? [] : [timeField('charge type', sent.chargerate, chargerate, CHARGE_REPAIR)]),
      timeField('reviewed', false, actreviewed ?? false, 'Turn off what reviews new time.'),
    ];
  };

  const endsWith = (html: string | null | undefined, mark: string) =>
    html
      ?.replaceAll(/<[^<>]*>/g, '')
      .trimEnd()
      .endsWith(mark) === true;

  return {
    name: 'HaloPSA',
    account: settings.clientId,
    baseUrl: () => settings.url,
    headers: () => (token === '' ? {} : { Authorization: `Bearer ${token}` }),

    async prepare(send, fault) {
      if (fault ? fault.status !== 401 : token !== '') return false;
      token = '';
      const form = {
        ...{ grant_type: 'client_credentials', client_id: settings.clientId, client_secret: settings.clientSecret },
        scope: 'read:tickets edit:tickets read:customers read:agents',
      };
      const response = z.object({ access_token: z.string() });
      const found = await send({
        ...{ method: 'POST', path: '/auth/token', query: settings.tenant ? { tenant: settings.tenant } : {} },
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        ...{ body: new URLSearchParams(form).toString(), response },
      });
      token = found.access_token;
      return true;
    },

    // The limit may be shared with other tools.
    paceMs: 1_000,
    // No limit is known.
    maxTimeText: Number.POSITIVE_INFINITY,
    showsTime: true,

    codesIn: (body) => [fault.safeParse(body).data?.error ?? ''],

    async people(send) {
      const users = (await agents(send)).flatMap(({ id, name, email, isdisabled, isapiagent }): DirectoryItem[] => {
        const service = id === automationAgent;
        if (!email || isdisabled || (isapiagent && !service)) return [];
        return [{ type: 'user', id: String(id), email, name, service, technician: !service }];
      });
      const companies: DirectoryItem[] = [];
      for await (const page of pages(send, ['/api/Client', 'clients', client], { includeactive: 'true' }))
        companies.push(...page.map(({ id, name }) => ({ type: 'company' as const, id: String(id), name })));
      return [...users, ...companies];
    },

    async *tickets(send, since, now) {
      const changed = since ?? new Date(now.getTime() - CLOSED_MS);
      const queries = [{ lastupdatefromdate: changed.toISOString() }, ...(since ? [] : [{ open_only: 'true' }])];
      for (const query of queries)
        for await (const page of pages(send, ['/api/Tickets', 'tickets', ticket], query))
          yield page.map(({ id, client_id }) => ({ type: 'ticket', id: String(id), company: String(client_id) }));
    },

    async create(send, record) {
      const time = record.kind === 'time_entry' ? timeBody(record) : {};
      const guid = z.guid().safeParse(record.id).data;
      return idOf(record.ticketId, (await write(send, record, { outcome, ...time, ...(guid && { guid }) })).id);
    },

    /** That Halo keeps the `guid` of a request is not confirmed, so the mark counts too. */
    async find(send, record) {
      const { id, ticketId, mark } = record;
      const hasMark = ({ guid, note_html, note }: Action) =>
        guid?.toLowerCase() === id || endsWith(note_html, mark) || endsWith(note, mark);
      const found = await listActions(send, MAX_ACTIONS, { ticket_id: ticketId, includehtmlnote: 'true' });
      return complete(found)
        .filter(hasMark)
        .map((one) => shown(record, one));
    },

    /** Settings of the outcome can send a mail, whatever the request says. */
    async read(send, record, psaId) {
      const query = { ticket_id: record.ticketId, includedetails: 'true', includeemail: 'true' };
      const path = `/api/Actions/${actionIdOf(psaId)}`;
      return shown(record, await send({ method: 'GET', path, query, response: action }));
    },

    /** The document has no `ticket_id` here, but without it the id could mean an action of another ticket. */
    async remove(send, { ticketId }, psaId) {
      const path = `/api/Actions/${actionIdOf(psaId)}`;
      await send({ method: 'DELETE', path, query: { ticket_id: ticketId }, response: z.unknown() });
    },

    async redact(send, record, psaId) {
      await write(send, record, { id: actionIdOf(psaId) });
    },

    async reviews(send, since) {
      // The end is after now, by the PSA's clock.
      const found = await timeBetween(send, since.getTime() - REVIEWED_MS, since.getTime() + REVIEWED_MS);
      return found.flatMap(({ id, ticket_id, actreviewed }) =>
        actreviewed ? [{ psaId: idOf(ticket_id, id), decision: 'APPROVED' as const }] : [],
      );
    },

    time: {
      settings: [
        ...[settings.url, settings.tenant, settings.timeZone, automationAgent],
        ...[outcome, charge.billable, charge.notBillable],
      ],
      rights: {
        create: 'Let the agent add time for other agents: Read and Modify.',
        read: 'Let the agent view tickets and actions of others.',
        remove: 'Let the agent delete actions.',
      },
    },

    async *checks(send) {
      const found = await agents(send);
      yield `the client secret works, and lists ${found.length} agents`;
      const automation = found.find(({ id }) => id === automationAgent);
      if (!automation?.email || automation.isdisabled)
        throw new Error(`There is no active agent ${automationAgent} with an email address.`);
      yield `agent ${automationAgent} is ${automation.name}`;
      const response = z.array(z.object({ outcome: text }));
      const outcomes = await send({ method: 'GET', path: '/api/Outcome', response });
      if (!outcomes.some((one) => one.outcome === outcome)) throw new Error(`There is no outcome ${outcome}.`);
      yield `the outcome ${outcome} exists; only the connection test shows whether it sends mail`;
      for (const list of [
        ['/api/Client', 'clients', client],
        ['/api/Tickets', 'tickets', ticket],
      ] as const) {
        await pages<string, unknown>(send, [...list], {}).next();
        yield `the application reads ${list[0]}`;
      }
    },
  };
}
