import source from '../../node_modules/connectwise-rest/dist/ManageTypes.d.ts?raw';
import { definition } from '../../src/adapters/connectwise/definition.ts';
import { dateIn } from '../../src/domain/calendar.ts';
import { FAKE_URL, type Fake, FakeData, type FakeEntry, json } from './fake.ts';
import { vendorTypes } from './vendor-types.ts';

// A ConnectWise that checks path, query, headers and body of every request, and its own responses, against the vendor's
// OpenAPI document. Its behaviour (conditions, visibility, approval) is ours, after the vendor's manual.

const vendor = vendorTypes(source);
// biome-ignore lint/suspicious/noExplicitAny: the bodies are checked against the vendor's types.
type Item = Record<string, any>;

/** Some of ConnectWise's conditions: `field operator value`, joined by `and`, and one pair in parentheses joined by `or`. */
function meets(item: Item, conditions: string): boolean {
  const either = /^\((.*?) or (.*?)\)(?: and (.*))?$/.exec(conditions);
  if (either) {
    const [, one = '', other = '', rest = ''] = either;
    return (meets(item, one) || meets(item, other)) && (rest === '' || meets(item, rest));
  }
  return conditions.split(' and ').every((condition) => {
    const [, field = '', operator = '', right = ''] = /^([\w/]+) (=|>=|>|in) (.+)$/.exec(condition.trim()) ?? [];
    if (operator === '') throw new Error(`The fake does not know the condition ${condition}.`);
    const left = item[field];
    if (operator === 'in') return right.slice(1, -1).split(',').includes(JSON.stringify(left));
    const value = right.startsWith('[') ? right.slice(1, -1) : JSON.parse(right);
    if (operator === '=') return left === value;
    return left !== undefined && (operator === '>' ? left > value : left >= value);
  });
}

export function fakeConnectWise(clock: () => number, timeZone = 'UTC') {
  const data = new FakeData(clock);
  const instant = (at: number) => `${new Date(at).toISOString().slice(0, 19)}Z`;
  /** What a time entry contains besides its fields in the data. */
  const sentOf = new Map<number, { timeStart: string; mark: string; workType?: Item; workRole?: Item }>();
  const sheets: { id: number; member: number; status: string }[] = [];
  /** The ids of project tickets. The others are service tickets. */
  const projects = new Set([505, 510]);
  /** The status of approved time, the codebase (null: the site does not tell it), and the ids of API members. */
  const settings: { approved: string; codebase: string | null; apiMembers: number[] } = {
    ...{ approved: 'ApprovedByTierTwo', codebase: 'v2022_1/', apiMembers: [] },
  };
  /** To how many minutes time is rounded up, whether its seconds are kept, and whether notes of another collection are a 404. */
  const habits = { roundsTo: 1, keepsSeconds: true, lists404: true };

  // The items of each collection. `lists` are the fields that only conditions use.
  const members = () =>
    data.users.map(({ id, email, name }) => ({
      item: {
        ...{
          id,
          identifier: id === 9 ? 'automation' : `member${id}`,
          licenseClass: settings.apiMembers.includes(id) ? 'A' : 'F',
          inactiveFlag: false,
        },
        ...{
          firstName: name.split(' ')[0],
          lastName: name.split(' ')[1],
          officeEmail: email,
          defaultEmail: 'Office',
          defaultPhone: 'Office',
        },
      },
      lists: {},
    }));
  const kindOf = (id: number) => (projects.has(id) ? 'project' : 'service');
  const ticketsOf = (kind: string) => data.tickets.filter(({ id }) => kindOf(id) === kind);
  const chargeTypeOf = (id: number) => (projects.has(id) ? 'ProjectTicket' : 'ServiceTicket');
  const tickets = (kind: string) =>
    ticketsOf(kind).map(({ id, company, closedAt, updatedAt }) => ({
      item: { id, summary: `Ticket ${id}`, company: { id: company }, closedFlag: closedAt !== null },
      lists: { lastUpdated: instant(updatedAt), ...(closedAt !== null && { closedDate: instant(closedAt) }) },
    }));
  const noteItem = ({ id, ticket, text, isPrivate, author }: (typeof data.notes)[number]) => ({
    // A customer is a contact.
    ...(author === 99 ? { contact: { id: author } } : { member: { id: author } }),
    ...{
      id,
      ticketId: ticket,
      text,
      internalAnalysisFlag: true,
      detailDescriptionFlag: !isPrivate,
      resolutionFlag: false,
    },
    // The response to a create has both, whatever the note is.
    ...{ internalFlag: true, externalFlag: !isPrivate },
  });
  const entryItem = ({ id, ticket, text, user, minutes, billable, decision }: FakeEntry) => {
    const { timeStart = '', mark = '', ...names } = sentOf.get(id) ?? {};
    return {
      ...{
        id,
        chargeToId: ticket,
        chargeToType: chargeTypeOf(ticket),
        member: { id: user },
        ...{ timeStart, timeEnd: instant(Date.parse(timeStart) + minutes * 60_000) },
        notes: text,
        actualHours: Number(((Math.ceil(minutes / habits.roundsTo) * habits.roundsTo) / 60).toFixed(2)),
      },
      ...{ internalNotes: mark, billableOption: billable ? 'Billable' : 'DoNotBill' },
      ...names,
      status: decision?.status === 'APPROVED' ? settings.approved : decision ? 'Rejected' : 'Open',
    };
  };

  function collection(template: string, parent: number): { item: Item; lists: Item }[] | undefined {
    if (template === '/system/members') return members();
    if (template === '/company/companies')
      return data.companies.map(({ id, name }) => ({
        item: { id, identifier: name, name },
        lists: { deletedFlag: false },
      }));
    const [, kind = '', rest] = /^\/(service|project)\/tickets(.*)$/.exec(template) ?? [];
    if (rest === '') return tickets(kind);
    if (rest === '/{parentId}/notes')
      return data.notes.filter(({ ticket }) => ticket === parent).map((one) => ({ item: noteItem(one), lists: {} }));
    if (template === '/time/sheets')
      return sheets.map(({ id, member, status }) => ({ item: { id, status }, lists: { 'member/id': member } }));
    if (template === '/time/entries')
      return data.entries.map((one) => ({ item: entryItem(one), lists: { lastUpdated: instant(one.updatedAt) } }));
    return undefined;
  }

  const notFound: [number, Item] = [404, { code: 'NotFound', message: 'A text of the PSA', errors: [] }];
  const invalid = (field: string): [number, Item] => [
    400,
    {
      code: 'InvalidObject',
      message: 'A text of the PSA',
      errors: [{ code: 'InvalidField', message: 'A text', field }],
    },
  ];

  function create(template: string, parent: number, body: Item): [number, unknown] {
    if (template.endsWith('/notes')) {
      const isPrivate = body['internalAnalysisFlag'] && !body['detailDescriptionFlag'] && !body['resolutionFlag'];
      if (body['processNotifications'] || body['customerUpdatedFlag']) data.violations.push('a note sends mail');
      const note = {
        ...{ id: data.newId(), ticket: parent, text: body['text'], author: data.account },
        isPrivate: isPrivate && !data.showsNotes,
      };
      data.notes.push(note);
      // As a thread reports, the response says both, whatever customers see.
      return [201, { ...noteItem(note), internalFlag: true, externalFlag: true }];
    }
    const { chargeToId, chargeToType, member, timeStart: sentStart, timeEnd, notes: text, internalNotes: mark } = body;
    const { billableOption } = body;
    const timeStart = habits.keepsSeconds ? sentStart : sentStart.replace(/\d\dZ$/, '00Z');
    if (!data.tickets.some(({ id }) => id === chargeToId)) return invalid('chargeToId');
    if (chargeToType !== chargeTypeOf(chargeToId)) return invalid('chargeToType');
    if (body['emailContactFlag'] || body['emailResourceFlag'] || body['emailCcFlag'])
      data.violations.push('time sends mail');
    const entry: FakeEntry = {
      ...{ id: data.newId(), ticket: chargeToId, text, user: member.id ?? 9, billable: billableOption === 'Billable' },
      minutes: (Date.parse(timeEnd) - Date.parse(sentStart)) / 60_000,
      ...{ date: dateIn(timeZone, Date.parse(timeStart)), updatedAt: data.now() },
    };
    const { workType, workRole } = body;
    sentOf.set(entry.id, { timeStart, mark, ...(workType && { workType }), ...(workRole && { workRole }) });
    data.entries.push(entry);
    data.onTime(entry);
    return [201, entryItem(entry)];
  }

  function respond(
    method: string,
    template: string,
    path: string,
    query: URLSearchParams,
    body: Item,
  ): [number, unknown] {
    const [, kind = '', ticket = ''] = /^\/(service|project)\/tickets\/(\d+)\/notes/.exec(path) ?? [];
    const parent = Number(ticket);
    if (ticket !== '' && !ticketsOf(kind).some(({ id }) => id === parent)) {
      const isList = method === 'GET' && template.endsWith('/notes');
      return isList && !habits.lists404 ? [200, []] : notFound;
    }
    if (method === 'POST') return create(template, parent, body);
    const list = collection(template.replace(/\/\{id\}$/, ''), parent);
    if (!list) return [200, []];
    if (!template.endsWith('{id}')) {
      const conditions = query.get('conditions') ?? '';
      const found = list.filter(({ item, lists }) => conditions === '' || meets({ ...item, ...lists }, conditions));
      const fields = query.get('fields')?.split(',');
      const items = found
        .toSorted((a, b) => a.item['id'] - b.item['id'])
        .slice(0, Math.min(Number(query.get('pageSize') ?? 25), 1_000));
      const isKept = (name: string) => !fields || fields.includes(name);
      return [200, items.map(({ item }) => Object.fromEntries(Object.entries(item).filter(([name]) => isKept(name))))];
    }
    const id = Number(path.split('/').at(-1));
    const found = list.find(({ item }) => item['id'] === id);
    if (!found) return notFound;
    if (method === 'GET') return [200, found.item];
    const note = data.notes.find((one) => one.id === id);
    if (method === 'DELETE' && note) {
      data.notes.splice(data.notes.indexOf(note), 1);
      data.removed.push(note.text);
      return [204, undefined];
    }
    const time = data.entries.find((one) => one.id === id);
    if (method === 'DELETE' && time) {
      data.entries.splice(data.entries.indexOf(time), 1);
      data.removedTime.push(time.text);
      return [204, undefined];
    }
    const target = note ?? time;
    for (const { op, path: field, value } of body as unknown as Item[])
      if (target && op === 'replace' && field === (note ? 'text' : 'notes')) target.text = value;
      else data.violations.push(`PATCH ${template}: ${op} ${field}`);
    return [200, found.item];
  }

  /** It is not in the document: its response is what clients read. */
  function companyInfo(method: string, company: string): Response {
    const what = `${method} /login/companyinfo/{company}`;
    data.calls[what] = (data.calls[what] ?? 0) + 1;
    if (settings.codebase === null) return json(404, undefined, data.now());
    const info = { CompanyName: 'Northwind', Codebase: settings.codebase, CompanyID: company, IsCloud: true };
    return json(200, company === 'northwind' ? info : null, data.now());
  }

  const env = {
    ...{ CW_URL: FAKE_URL, CW_COMPANY: 'northwind', CW_AUTOMATION_MEMBER: 'Automation' },
    ...{ CW_CLIENT_ID: '00000000-0000-4000-8000-000000000000', CW_PUBLIC_KEY: 'public', CW_PRIVATE_KEY: 'private' },
  };
  const authorization = `Basic ${btoa('northwind+public:private')}`;
  const fake: Fake = {
    data,
    env,
    rejects: true,
    createsWithId: true,
    plain: (text) => text.replace(/\n\n\[twb:\S+\]$/, ''),
    psa: definition.psa(env, { TIME_ZONE: timeZone }),
    fetch: async (request) => {
      const { method } = request;
      const { pathname, searchParams } = new URL(request.url);
      const company = /^\/login\/companyinfo\/(.*)$/.exec(pathname)?.[1];
      if (company !== undefined) return companyInfo(method, company);
      const root = `/${settings.codebase ?? 'v4_6_release/'}apis/3.0`;
      // As of another version: what is there is not the API.
      if (!pathname.startsWith(root)) return new Response('<html>', { status: 404 });
      const path = pathname.slice(root.length);
      const operation = vendor.find(method, path);
      const what = `${method} ${operation?.template ?? path}`;
      data.calls[what] = (data.calls[what] ?? 0) + 1;
      const sent = await request.text();
      const body = sent === '' ? undefined : JSON.parse(sent);
      const problems = operation
        ? [
            ...[...searchParams.keys()]
              .filter((name) => !operation.query.includes(name))
              .map((name) => `query ${name}`),
            ...operation.header.filter((name) => !request.headers.has(name)).map((name) => `header ${name}`),
            // The document says that the value of a patch is an object. Every client sends the value itself.
            ...(operation.body && method !== 'PATCH' ? vendor.check(operation.body, body) : []),
          ]
        : ['is not in the document'];
      data.violations.push(...problems.map((problem) => `${what}: ${problem}`));
      if (request.headers.get('Accept') !== 'application/vnd.connectwise.com+json; version=2022.1')
        data.violations.push(`${what}: another version`);
      if (!operation) return json(404, undefined, data.now());
      if (request.headers.get('Authorization') !== authorization) return json(401, undefined, data.now());
      const [status, answer] = respond(method, operation.template, path, searchParams, body);
      if (status < 300) {
        const all = operation.response ? vendor.check(operation.response, answer) : [];
        // A list with `fields` has only these.
        const wrong = searchParams.has('fields') ? all.filter((problem) => !problem.endsWith('is missing')) : all;
        if (status !== operation.status) wrong.push(`status ${status}`);
        data.violations.push(...wrong.map((problem) => `the response of ${what}: ${problem}`));
      }
      return json(status, answer, data.now());
    },
  };
  return { ...fake, settings, habits, sheets, projects };
}
