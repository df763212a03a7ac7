import * as z from 'zod';
import { definition } from '../../src/adapters/halo/definition.ts';
import { dateIn } from '../../src/domain/calendar.ts';
import { FAKE_URL, type Fake, FakeData, type FakeEntry, type FakeNote, json } from './fake.ts';

// A Halo that checks path, query and body of every request against the shapes of the vendor's OpenAPI document. That
// document describes no response: the fake's responses and its behaviour are ours, after what clients read.

const [AUTOMATION, OUTCOME] = [9, 'Automation'];
const CHARGE_BILLABLE = 2;
const flag = z.enum(['true', 'false']);
const whole = z.coerce.number().int();
const paged = { pageinate: flag, page_size: whole, page_no: whole, order: z.string() };
/** A new action; one with an id is changed. */
const action = z
  .strictObject({
    ...{ id: z.int(), ticket_id: z.int(), guid: z.guid(), outcome: z.string(), note_html: z.string() },
    ...{ hiddenfromuser: z.boolean(), sendemail: z.boolean(), send_survey: z.boolean(), dont_do_rules: z.boolean() },
    ...{ datetime: z.iso.datetime(), timetaken: z.number(), actisbillable: z.boolean(), chargerate: z.int() },
    ...{ actionarrivaldate: z.iso.datetime(), actioncompletiondate: z.iso.datetime() },
    ...{ who_agentid: z.int(), actionby_agent_id: z.int() },
  })
  .partial();
type Body = z.output<typeof action>;

/** The parameters of the requests, of those that the document has. The document calls the time of a change a boolean. */
const QUERIES: Record<string, z.ZodObject> = {
  'GET /Agent': z.strictObject({ includeenabled: flag, includeapiagents: flag }).partial(),
  'GET /Client': z.strictObject({ ...paged, includeactive: flag }).partial(),
  'GET /Tickets': z.strictObject({ ...paged, lastupdatefromdate: z.iso.datetime(), open_only: flag }).partial(),
  'GET /Outcome': z.strictObject({}),
  'GET /Actions': z
    .strictObject({
      ...{ ticket_id: whole, count: whole, excludesys: flag, includehtmlnote: flag },
      ...{ actoutcome: z.string(), timeentriesonly: flag, startdate: z.iso.datetime(), enddate: z.iso.datetime() },
    })
    .partial(),
  'POST /Actions': z.strictObject({}),
  'GET /Actions/{id}': z.strictObject({ ticket_id: whole, includedetails: flag, includeemail: flag }).partial(),
  // Clients send the ticket, which the document does not have.
  'DELETE /Actions/{id}': z.strictObject({ ticket_id: whole }),
};

export function fakeHalo(clock: () => number) {
  const data = new FakeData(clock);
  /** Settings of the outcome and of Halo, which a request cannot change. */
  const settings = { sendsMail: false, keepsGuid: false };
  const guids = new Map<FakeNote | FakeEntry, string | undefined>();
  const shown = new Set<FakeEntry>();
  const mailed = new Set<FakeNote | FakeEntry>();
  const starts = new Map<FakeEntry, string | undefined>();
  const lastIds = new Map<number, number>();
  let tokens = 0;

  const itemOf = (one: FakeNote | FakeEntry) => ({
    ...{ id: one.id, ticket_id: one.ticket, note_html: one.text, outcome: OUTCOME, guid: guids.get(one) ?? null },
    hiddenfromuser: 'isPrivate' in one ? one.isPrivate : !shown.has(one),
    who_agentid: 'isPrivate' in one ? one.author : one.user,
    emailto: mailed.has(one) ? 'customer@acme.example' : '',
    ...('minutes' in one && {
      actreviewed: one.decision?.status === 'APPROVED',
      chargerate: one.billable ? CHARGE_BILLABLE : 0,
      timetaken: one.minutes / 60,
      datetime: starts.get(one),
    }),
  });
  const notFound: [number, unknown] = [404, { error: 'not_found' }];

  function page(name: string, all: readonly { id: number }[], query: URLSearchParams): [number, unknown] {
    const [size, number] = [Math.min(Number(query.get('page_size')), 100), Number(query.get('page_no'))];
    const items = all.toSorted((a, b) => a.id - b.id).slice((number - 1) * size, number * size);
    return [200, { page_no: number, page_size: size, record_count: all.length, [name]: items }];
  }

  function write(body: Body): [number, unknown] {
    const { ticket_id: ticket = 0, note_html: text = '', hiddenfromuser, timetaken } = body;
    if (!data.tickets.some((one) => one.id === ticket)) return notFound;
    if (body.sendemail !== false || body.send_survey !== false) data.violations.push('an action sends mail');
    if (body.dont_do_rules !== true) data.violations.push('an action starts rules');
    if (body.id !== undefined) {
      const found = [...data.notes, ...data.entries].find((one) => one.id === body.id && one.ticket === ticket);
      if (!found) return notFound;
      found.text = text;
      return [201, itemOf(found)];
    }
    if (body.outcome !== OUTCOME) data.violations.push(`the outcome ${body.outcome}`);
    // Begins again in each ticket.
    const id = (lastIds.get(ticket) ?? 0) + 1;
    lastIds.set(ticket, id);
    const isPrivate = hiddenfromuser === true && !data.showsNotes;
    let created: FakeNote | FakeEntry;
    if (timetaken === undefined) {
      created = { id, ticket, text, isPrivate, author: data.account };
      data.notes.push(created);
    } else {
      created = {
        ...{ id, ticket, text, minutes: Math.round(60 * timetaken), updatedAt: data.now() },
        // As in Halo, the charge type decides, and not `actisbillable`. Without one, that of the ticket type does.
        ...{ user: body.actionby_agent_id ?? 0, billable: body.chargerate !== 0 },
        date: dateIn('UTC', Date.parse(body.datetime ?? '')),
      };
      data.entries.push(created);
      // In UTC, without a zone.
      starts.set(created, body.datetime?.replace(/Z$/, ''));
      data.onTime(created);
      if (!isPrivate) shown.add(created);
    }
    if (settings.sendsMail) mailed.add(created);
    if (settings.keepsGuid) guids.set(created, body.guid);
    return [201, itemOf(created)];
  }

  function remove(one: FakeNote | FakeEntry): [number, unknown] {
    data.notes = data.notes.filter((each) => each !== one);
    data.entries = data.entries.filter((each) => each !== one);
    ('minutes' in one ? data.removedTime : data.removed).push(one.text);
    return [200, itemOf(one)];
  }

  function respond(operation: string, id: number, query: URLSearchParams, body: Body): [number, unknown] {
    const of = Number(query.get('ticket_id'));
    const since = Date.parse(query.get('lastupdatefromdate') ?? query.get('startdate') ?? '') || 0;
    const found = [...data.notes, ...data.entries].filter((one) => of === 0 || one.ticket === of);
    if (operation === 'GET /Agent')
      return [200, data.users.map((one) => ({ ...one, isdisabled: false, isapiagent: one.id === AUTOMATION }))];
    if (operation === 'GET /Outcome') return [200, [{ id: 1, outcome: OUTCOME }]];
    if (operation === 'GET /Client') return page('clients', data.companies, query);
    if (operation === 'GET /Tickets') {
      const isListed = ({ closedAt, updatedAt }: FakeData['tickets'][number]) =>
        updatedAt >= since && (query.get('open_only') !== 'true' || closedAt === null);
      const tickets = data.tickets.filter(isListed).map(({ id, company }) => ({ id, client_id: company }));
      return page('tickets', tickets, query);
    }
    if (operation === 'POST /Actions') return write(body);
    if (operation === 'GET /Actions') {
      if (of !== 0 && !data.tickets.some((one) => one.id === of)) return notFound;
      const isTime = query.get('timeentriesonly') === 'true';
      const until = Date.parse(query.get('enddate') ?? '') || Number.POSITIVE_INFINITY;
      const isInRange = ({ updatedAt }: FakeEntry) => updatedAt >= since && updatedAt <= until;
      const listed = isTime ? data.entries.filter(isInRange) : found;
      const actions = listed.slice(0, Number(query.get('count'))).map(itemOf);
      const isHtml = query.get('includehtmlnote') === 'true';
      return [
        200,
        { record_count: listed.length, actions: isHtml ? actions : actions.map(({ note_html: _, ...rest }) => rest) },
      ];
    }
    const one = found.find((each) => each.id === id);
    if (!one) return notFound;
    return operation.startsWith('DELETE') ? remove(one) : [200, itemOf(one)];
  }

  const env = {
    ...{ HALO_URL: FAKE_URL, HALO_TENANT: 'northwind', HALO_CLIENT_ID: 'client', HALO_CLIENT_SECRET: 'secret' },
    ...{
      HALO_AUTOMATION_AGENT: String(AUTOMATION),
      HALO_OUTCOME: OUTCOME,
      HALO_CHARGE_BILLABLE: String(CHARGE_BILLABLE),
    },
  };
  const fake: Fake = {
    data,
    env,
    rejects: false,
    createsWithId: true,
    plain: (text) =>
      text
        .replace(/^<pre [^>]*>\n([\s\S]*)\n<\/pre><p>\[twb:\S+\]<\/p>$/, '$1')
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&amp;', '&'),
    psa: definition.psa(env, { TIME_ZONE: 'UTC' }),
    fetch: async (request) => {
      const { pathname, searchParams } = new URL(request.url);
      const path = pathname.replace(/^\/api/, '');
      const operation = `${request.method} ${path.replace(/\d+$/, '{id}')}`;
      data.calls[operation] = (data.calls[operation] ?? 0) + 1;
      if (operation === 'POST /auth/token') {
        const form = await request.formData();
        const isRight = form.get('grant_type') === 'client_credentials' && form.get('client_secret') === 'secret';
        if (request.headers.has('Authorization')) data.violations.push('a token is requested with another one');
        tokens += 1;
        return isRight
          ? json(200, { access_token: `token ${tokens}`, expires_in: 3600 }, data.now())
          : json(400, { error: 'invalid_client' }, data.now());
      }
      if (request.headers.get('Authorization') !== `Bearer token ${tokens}`) return json(401, undefined, data.now());
      const sent = await request.text();
      const body = sent === '' ? [] : JSON.parse(sent);
      const problems = [
        ...(QUERIES[operation]?.safeParse(Object.fromEntries(searchParams)).error?.issues ?? []),
        ...(z.array(action).safeParse(body).error?.issues ?? []),
      ].map((issue) => `${issue.path.join('/')} ${issue.message}`);
      if (!QUERIES[operation]) problems.push('is not in the document');
      data.violations.push(...problems.map((problem) => `${operation}: ${problem}`));
      const [status, answer] = respond(operation, Number(path.split('/').at(-1)), searchParams, body[0] ?? {});
      return json(status, answer, data.now());
    },
  };
  const forgetTokens = () => {
    tokens += 1;
  };
  /** Shows all time entries to customers. */
  const publishTime = () => {
    for (const entry of data.entries) shown.add(entry);
  };
  return { ...fake, settings, forgetTokens, publishTime };
}
