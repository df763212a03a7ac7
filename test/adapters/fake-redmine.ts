import { definition } from '../../src/adapters/redmine/definition.ts';
import { FAKE_URL, type Fake, FakeData, json } from './fake.ts';

// A Redmine for the conformance suite. `npm run test:redmine` runs the adapter with a real one.

const [ME, ACTIVITY, BILLABLE, REVIEW, REVIEWER] = [9, 10, 3, 6, 7];
const RIGHTS =
  'view_issues add_issue_notes set_notes_private view_private_notes edit_own_issue_notes log_time log_time_for_other_users view_time_entries edit_time_entries';

/** The fields that a body may have. */
const FIELDS: Record<string, string[]> = {
  issue: ['notes', 'private_notes'],
  journal: ['notes'],
  time_entry: ['issue_id', 'user_id', 'spent_on', 'activity_id', 'hours', 'comments', 'custom_fields'],
};

export function fakeRedmine(clock: () => number) {
  const data = new FakeData(clock);
  /** The members of each project, who may log time there. */
  const members: Record<number, number[]> = { 11: [1, 2, ME], 12: [1, 2, ME] };
  const isMember = (ticket: number, user: number) => {
    const project = data.tickets.find(({ id }) => id === ticket)?.company ?? 0;
    return members[project]?.includes(user) === true;
  };
  const projectOf = (id: number) => ({ id, name: data.companies.find((one) => one.id === id)?.name ?? '' });
  const issueOf = (id: number) => {
    const ticket = data.tickets.find((one) => one.id === id);
    const journals = data.notes.filter((note) => note.ticket === id);
    return (
      ticket && {
        id,
        project: projectOf(ticket.company),
        journals: journals.map((note) => ({
          id: note.id,
          user: { id: note.author },
          notes: note.text,
          private_notes: note.isPrivate,
        })),
      }
    );
  };
  const entryOf = ({ id, text, decision, user, minutes, date, billable }: FakeData['entries'][number]) => ({
    ...{ id, comments: text, user: { id: user }, activity: { id: ACTIVITY }, spent_on: date },
    hours: Number((minutes / 60).toFixed(2)),
    custom_fields: [
      { id: BILLABLE, name: 'Billable', value: billable ? '1' : '0' },
      { id: REVIEW, name: 'Review', value: decision?.status ?? '' },
      { id: REVIEWER, name: 'Reviewer', value: decision?.reviewer ?? '' },
    ],
  });

  function page<Item extends { id: number }>(
    name: string,
    items: readonly Item[],
    query: URLSearchParams,
  ): [number, unknown] {
    const [limit, offset] = [Math.min(Number(query.get('limit') ?? 25), 100), Number(query.get('offset') ?? 0)];
    const sorted = items.toSorted((a, b) => a.id - b.id);
    return [200, { [name]: sorted.slice(offset, offset + limit), total_count: items.length, limit, offset }];
  }
  const after = (query: URLSearchParams, name: string) => Date.parse(query.get(name)?.replace('>=', '') ?? '') || 0;

  function issues(query: URLSearchParams): [number, unknown] {
    const status = query.get('status_id');
    const found = data.tickets.filter(
      ({ closedAt, updatedAt }) =>
        (status === '*' || (status === 'open') === (closedAt === null)) &&
        updatedAt >= after(query, 'updated_on') &&
        (closedAt ?? Infinity) >= after(query, 'closed_on'),
    );
    return page(
      'issues',
      found.map(({ id, company }) => ({ id, project: projectOf(company) })),
      query,
    );
  }

  function get(path: string, query: URLSearchParams, isAdmin: boolean): [number, unknown] | undefined {
    const [, collection = '', id = '', below = ''] = /^\/(\w+)(?:\/(\w+))?(?:\/(\w+))?\.json$/.exec(path) ?? [];
    const route = [collection, id && (/^\d+$/.test(id) ? '#' : id), below].filter(Boolean).join(' ');
    const memberships = data.companies.map((project) => ({
      id: project.id,
      project,
      roles: [{ id: 4, name: 'Write-back' }],
    }));
    if (['projects', 'projects # memberships', 'users'].includes(route) && !isAdmin) return [403, undefined];
    if (route === 'users current')
      return [200, { user: { id: ME, firstname: 'Automation', lastname: 'S', memberships } }];
    if (route === 'roles #') return [200, { role: { id: 4, permissions: RIGHTS.split(' ') } }];
    if (route === 'projects')
      return page(
        'projects',
        data.companies.map((one) => ({ ...one, custom_fields: [] })),
        query,
      );
    if (route === 'projects # memberships') {
      const roleOf = (user: number) => (user === ME ? { id: 4, name: 'Write-back' } : { id: 3, name: 'Technician' });
      const found = members[Number(id)] ?? [];
      const list = found.map((user) => ({
        id: user,
        project: projectOf(Number(id)),
        user: { id: user },
        roles: [roleOf(user)],
      }));
      return page('memberships', list, query);
    }
    if (route === 'users')
      return page(
        'users',
        data.users.map(({ id, email, name }) => ({
          id,
          mail: email,
          firstname: name.split(' ')[0] ?? '',
          lastname: name.split(' ')[1] ?? '',
        })),
        query,
      );
    if (route === 'issues') return issues(query);
    if (route === 'issues #') {
      const issue = issueOf(Number(id));
      return issue ? [200, { issue }] : [404, undefined];
    }
    if (route === 'time_entries #') {
      const entry = data.entries.find((one) => one.id === Number(id));
      return entry ? [200, { time_entry: entryOf(entry) }] : [404, undefined];
    }
    if (route === 'time_entries') {
      const issue = query.get('issue_id');
      const reviewed = query.get(`cf_${REVIEW}`);
      const found = data.entries.filter(
        (one) => (!issue || one.ticket === Number(issue)) && (!reviewed || one.decision),
      );
      return page('time_entries', found.map(entryOf), query);
    }
    if (route === 'enumerations time_entry_activities')
      return [200, { time_entry_activities: [{ id: ACTIVITY, name: 'Remote' }] }];
    return undefined;
  }

  // biome-ignore lint/suspicious/noExplicitAny: the fields are checked against FIELDS.
  function write(method: string, path: string, body: any): [number, unknown] | undefined {
    const [, collection = '', id = ''] = /^\/(\w+)(?:\/(\d+))?\.json$/.exec(path) ?? [];
    const [name = ''] = Object.keys(body);
    const unknown = Object.keys(body[name] ?? {}).filter((field) => !FIELDS[name]?.includes(field));
    if (unknown.length > 0) data.violations.push(`${method} ${path}: ${unknown}`);
    if (method === 'PUT' && collection === 'issues') {
      if (!issueOf(Number(id))) return [404, undefined];
      const { notes: text, private_notes } = body.issue;
      const note = { id: data.newId(), ticket: Number(id), text, author: data.account };
      data.notes.push({ ...note, isPrivate: private_notes && !data.showsNotes });
      return [204, undefined];
    }
    if (method === 'PUT' && collection === 'journals') {
      const note = data.notes.find((one) => one.id === Number(id));
      if (!note) return [404, undefined];
      if (body.journal.notes !== '') note.text = body.journal.notes;
      else {
        data.notes.splice(data.notes.indexOf(note), 1);
        data.removed.push(note.text);
      }
      return [204, undefined];
    }
    if (method === 'DELETE' && collection === 'time_entries') {
      const index = data.entries.findIndex((one) => one.id === Number(id));
      data.removedTime.push(
        ...data.entries.splice(index === -1 ? data.entries.length : index, 1).map(({ text }) => text),
      );
      return index === -1 ? [404, undefined] : [204, undefined];
    }
    if (method === 'PUT' && collection === 'time_entries') {
      const entry = data.entries.find((one) => one.id === Number(id));
      if (entry) entry.text = body.time_entry.comments;
      return entry ? [204, undefined] : [404, undefined];
    }
    if (method === 'POST' && collection === 'time_entries') {
      const { issue_id: ticket, user_id: user, spent_on: date, hours, comments: text, custom_fields } = body.time_entry;
      if (!isMember(ticket, user)) return [422, { errors: ['User is invalid'] }];
      if (text.length > 1024) return [422, { errors: ['Issue is invalid'] }];
      const [h = 0, m = 0] = hours.split(':').map(Number);
      const billable = custom_fields.find((one: { id: number }) => one.id === BILLABLE)?.value === '1';
      const entry = {
        ...{ id: data.newId(), ticket, user, date, text, billable },
        minutes: 60 * h + m,
        updatedAt: data.now(),
      };
      data.entries.push(entry);
      data.onTime(entry);
      return [201, { time_entry: entryOf(entry) }];
    }
    return undefined;
  }

  const env = {
    ...{ REDMINE_URL: FAKE_URL, REDMINE_KEY: 'service', REDMINE_ADMIN_KEY: 'admin' },
    ...{ REDMINE_ACTIVITY: String(ACTIVITY), REDMINE_BILLABLE_FIELD: String(BILLABLE) },
    ...{ REDMINE_REVIEW_FIELD: String(REVIEW), REDMINE_REVIEWER_FIELD: String(REVIEWER) },
  };
  const fake: Fake = {
    data,
    env,
    rejects: true,
    createsWithId: false,
    plain: (text) => text.replace(/^<pre>\n([\s\S]*)\n<\/pre>\n\[twb:\S+\]$|^([\s\S]*) \[twb:\S+\]$/, '$1$2'),
    psa: definition.psa(env, { TIME_ZONE: 'UTC' }),
    fetch: async (request) => {
      const { pathname, searchParams } = new URL(request.url);
      const what = `${request.method} ${pathname.replaceAll(/\d+/g, '#')}`;
      data.calls[what] = (data.calls[what] ?? 0) + 1;
      const key = request.headers.get('X-Redmine-API-Key');
      if (key !== 'service' && key !== 'admin') return json(401, undefined, data.now());
      const found =
        request.method === 'GET'
          ? get(pathname, searchParams, key === 'admin')
          : write(request.method, pathname, JSON.parse((await request.text()) || '{}'));
      if (!found) data.violations.push(what);
      const [status, body] = found ?? [404, undefined];
      return json(status, body, data.now());
    },
  };
  return { ...fake, members };
}
