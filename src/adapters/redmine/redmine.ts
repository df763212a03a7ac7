import * as z from 'zod';
import { DAY_MS } from '../../domain/calendar.ts';
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

// Redmine 5, REST API: https://www.redmine.org/projects/redmine/wiki/Rest_api

export interface RedmineSettings {
  /** Such as https://redmine.example */
  url: string;
  /** The API access key of an account that is not an administrator, with a role in each project. */
  key: string;
  /** The API access key of an administrator, to list users and projects. */
  adminKey: string;
  /** The ids of the activity and of the custom fields of time entries, as in the URLs of their pages. */
  activity: number;
  billableField?: number | undefined;
  reviewField?: number | undefined;
  reviewerField?: number | undefined;
}

/** Redmine silently returns no more. */
const PAGE = 100;
/** How long a closed issue can be written to. */
const CLOSED_MS = 30 * DAY_MS;
const REVIEWED_MS = 60 * DAY_MS;
/** Without `set_notes_private`, Redmine makes a private note public, sends mails and reports no error. */
const RIGHTS = [
  'view_issues',
  'add_issue_notes',
  'set_notes_private',
  'view_private_notes',
  'edit_own_issue_notes',
  'log_time',
  'log_time_for_other_users',
  'view_time_entries',
  'edit_time_entries',
];

const id = z.int();
const named = z.object({ id, name: z.string() });
const fields = z.array(z.object({ id, name: z.string(), value: z.unknown() })).default([]);
const project = z.object({ id, name: z.string(), custom_fields: fields });
const user = z.object({ id, mail: z.string().optional(), firstname: z.string(), lastname: z.string() });
const journal = z.object({ id, user: z.object({ id }), notes: z.string().nullish(), private_notes: z.boolean() });
const issue = z.object({ id, project: named, journals: z.array(journal).default([]) });
const entry = z.object({
  ...{ id, comments: z.string().nullish(), custom_fields: fields },
  ...{ user: z.object({ id }), hours: z.number(), spent_on: z.string(), activity: z.object({ id }) },
});
const conflict = z.object({ errors: z.array(z.unknown()).length(0) });
type Entry = z.output<typeof entry>;
/** The value of a custom field that is empty. */
const NOT_SET = 'not set';
const membership = z.object({ user: z.object({ id }).optional(), project: z.object({ id }), roles: z.array(named) });

export function redmine(settings: RedmineSettings): Psa {
  const { activity, billableField, reviewField, reviewerField } = settings;
  const asAdmin = { 'X-Redmine-API-Key': settings.adminKey };

  /** Each page begins with the last item of the page before: if it does not, the list has changed. */
  async function* pages<Item extends { id: number }>(
    send: Send,
    name: string,
    shape: z.ZodType<Item>,
    query: Record<string, string> = {},
    { path = `/${name}.json`, headers = {} } = {},
  ): AsyncGenerator<Item[]> {
    const response = z.object({ [name]: z.array(shape) }).transform((body) => body[name] ?? []);
    for (let offset = 0, last: Item | undefined; ; offset += PAGE - 1) {
      const range = { limit: String(PAGE), offset: String(offset) };
      const items: Item[] = await send({ method: 'GET', path, query: { ...query, ...range }, headers, response });
      if (last && items[0]?.id !== last.id) throw new PsaFault('later', `GET ${path} changed while it was read`);
      yield last ? items.slice(1) : items;
      if (items.length < PAGE) return;
      last = items.at(-1);
    }
  }
  async function all<Item extends { id: number }>(...args: Parameters<typeof pages<Item>>): Promise<Item[]> {
    const items: Item[] = [];
    for await (const page of pages(...args)) items.push(...page);
    return items;
  }

  async function issueOf(send: Send, ticketId: string) {
    const path = `/issues/${ticketId}.json`;
    return (await send({ method: 'GET', path, query: { include: 'journals' }, response: z.object({ issue }) })).issue;
  }

  async function me(send: Send, query = {}) {
    const shape = z.object({ user: z.object({ id, memberships: z.array(membership).default([]) }) });
    return (await send({ method: 'GET', path: '/users/current.json', query, response: shape })).user;
  }

  /** The roles are read before each write, because Redmine would publish a note without a word. */
  async function requireRights(send: Send, projectId: number): Promise<void> {
    const { memberships } = await me(send, { include: 'memberships' });
    const rights: string[] = [];
    for (const role of memberships.filter((one) => one.project.id === projectId).flatMap(({ roles }) => roles)) {
      const response = z.object({ role: z.object({ permissions: z.array(z.string()) }) });
      rights.push(...(await send({ method: 'GET', path: `/roles/${role.id}.json`, response })).role.permissions);
    }
    const missing = RIGHTS.filter((right) => !rights.includes(right));
    if (missing.length > 0)
      throw new PsaFault('denied', `The account lacks ${missing.join(', ')} in project ${projectId}`);
  }

  // In `pre` it is plain text.
  const noteText = ({ text, mark }: PsaRecord) =>
    `<pre>\n${text.replaceAll(/<(?=\/pre)/gi, '<\u200b')}\n</pre>\n${mark}`;
  const comments = ({ text, mark }: PsaRecord) => `${text} ${mark}`;
  const endsWith = (text: string | null | undefined, mark: string) => text?.trimEnd().endsWith(mark) === true;

  const timeBody = (record: PsaTime) => ({
    issue_id: Number(record.ticketId),
    user_id: Number(record.userId),
    spent_on: record.workDate.slice(0, 10),
    activity_id: activity,
    // As a decimal number, 7 minutes would be 0.12 hours.
    hours: `${Math.floor(record.minutes / 60)}:${String(record.minutes % 60).padStart(2, '0')}`,
    comments: comments(record),
    ...(billableField && { custom_fields: [{ id: billableField, value: record.billable ? '1' : '0' }] }),
  });

  /** A custom field, if the adapter is to use it. */
  const customField = (name: string, field: number | undefined, sent: string, found: Entry, repair: string) => {
    if (field === undefined) return [];
    const value = found.custom_fields.find(({ id }) => id === field)?.value;
    return [timeField(name, sent, value || NOT_SET, repair)];
  };

  const shownNote = (found: z.output<typeof journal>): Shown => ({
    ...{ psaId: String(found.id), author: String(found.user.id), isPrivate: found.private_notes, fields: [] },
  });
  // The role decides who sees time entries.
  const shownTime = (record: PsaTime, found: Entry): Shown => ({
    ...{ psaId: String(found.id), author: '', isPrivate: true },
    fields: [
      timeField('technician', record.userId, found.user.id, 'Let the account log time for other users.'),
      timeField('date', record.workDate.slice(0, 10), found.spent_on, 'Check TIME_ZONE.'),
      // Redmine rounds hours to two digits.
      timeField('minutes', record.minutes, Math.round(60 * found.hours), 'Remove what rounds time.'),
      timeField('activity', activity, found.activity.id, 'Check REDMINE_ACTIVITY.'),
      ...customField('billable', billableField, record.billable ? '1' : '0', found, 'Check REDMINE_BILLABLE_FIELD.'),
      ...customField('review', reviewField, NOT_SET, found, 'Remove the default value of REDMINE_REVIEW_FIELD.'),
    ],
  });

  return {
    name: 'Redmine',
    account: settings.key,
    baseUrl: () => settings.url,
    headers: () => ({ 'X-Redmine-API-Key': settings.key }),
    paceMs: 50,
    maxTimeText: 1024,
    // Redmine's errors are sentences in the language of the account.
    codesIn: () => [],
    /** Redmine lists no error if another request has changed the issue meanwhile (`StaleObjectError`). */
    judge: (status, body) => (status === 422 && conflict.safeParse(body).success ? 'later' : undefined),

    async people(send) {
      const { id: serviceId } = await me(send);
      const projects = await all(send, 'projects', project, { status: '1' }, { headers: asAdmin });
      const technicians = new Set<number | undefined>();
      for (const { id: of } of projects) {
        const at = { path: `/projects/${of}/memberships.json`, headers: asAdmin };
        for (const { user, roles } of await all(send, 'memberships', membership.extend({ id }), {}, at))
          if (roles.some(({ name }) => name === 'Technician')) technicians.add(user?.id);
      }
      const users = await all(send, 'users', user, { status: '1', sort: 'id' }, { headers: asAdmin });
      const rateOf = (one: z.output<typeof project>) =>
        Number(one.custom_fields.find(({ name }) => name === 'Hourly rate')?.value || Number.NaN);
      return [
        ...users.flatMap(({ id, mail: email, firstname, lastname }): DirectoryItem[] => {
          if (!email) return [];
          const [service, technician] = [id === serviceId, technicians.has(id)];
          return [{ type: 'user', id: String(id), email, name: `${firstname} ${lastname}`, service, technician }];
        }),
        ...projects.flatMap((one): DirectoryItem[] => {
          const [company, hourlyRate] = [String(one.id), rateOf(one)];
          const agreement = { type: 'agreement' as const, id: `rate-${company}`, company, hourlyRate };
          return [{ type: 'company', id: company, name: one.name }, ...(Number.isNaN(hourlyRate) ? [] : [agreement])];
        }),
      ];
    },

    async *tickets(send, since, now) {
      const instant = (at: number) => `>=${new Date(at).toISOString().slice(0, 19)}Z`;
      const queries = since
        ? [{ status_id: '*', updated_on: instant(since.getTime()) }]
        : [{ status_id: 'open' }, { status_id: 'closed', closed_on: instant(now.getTime() - CLOSED_MS) }];
      for (const query of queries)
        for await (const page of pages(send, 'issues', issue, { ...query, sort: 'id' }))
          yield page.map(({ id, project }) => ({ type: 'ticket', id: String(id), company: String(project.id) }));
    },

    async create(send, record) {
      await requireRights(send, (await issueOf(send, record.ticketId)).project.id);
      if (record.kind === 'time_entry') {
        const response = z.object({ time_entry: z.object({ id }) });
        const body = { time_entry: timeBody(record) };
        return String((await send({ method: 'POST', path: '/time_entries.json', body, response })).time_entry.id);
      }
      const body = { issue: { notes: noteText(record), private_notes: true } };
      await send({ method: 'PUT', path: `/issues/${record.ticketId}.json`, body, response: z.unknown() });
      return null;
    },

    async find(send, record) {
      const { ticketId, mark } = record;
      if (record.kind === 'note') {
        const { journals } = await issueOf(send, ticketId);
        return journals.filter(({ notes }) => endsWith(notes, mark)).map(shownNote);
      }
      const entries = await all(send, 'time_entries', entry, { issue_id: ticketId, sort: 'id' });
      return entries.filter(({ comments }) => endsWith(comments, mark)).map((one) => shownTime(record, one));
    },

    async read(send, record, psaId) {
      if (record.kind === 'time_entry') {
        const response = z.object({ time_entry: entry });
        const path = `/time_entries/${psaId}.json`;
        return shownTime(record, (await send({ method: 'GET', path, response })).time_entry);
      }
      const { journals } = await issueOf(send, record.ticketId);
      const found = journals.find((one) => String(one.id) === psaId);
      if (found) return shownNote(found);
      throw new PsaFault('refused', `Note ${psaId} was deleted`, { status: 404 });
    },

    /** Redmine removes a note without text. */
    async remove(send, { kind }, psaId) {
      if (kind === 'time_entry')
        await send({ method: 'DELETE', path: `/time_entries/${psaId}.json`, response: z.unknown() });
      else {
        const body = { journal: { notes: '' } };
        await send({ method: 'PUT', path: `/journals/${psaId}.json`, body, response: z.unknown() });
      }
    },

    async redact(send, record, psaId) {
      const [path, body] =
        record.kind === 'note'
          ? [`/journals/${psaId}.json`, { journal: { notes: noteText(record) } }]
          : [`/time_entries/${psaId}.json`, { time_entry: { comments: comments(record) } }];
      await requireRights(send, (await issueOf(send, record.ticketId)).project.id);
      await send({ method: 'PUT', path, body, response: z.unknown() });
    },

    ...(reviewField !== undefined && {
      async reviews(send, since) {
        const spent_on = `>=${new Date(since.getTime() - REVIEWED_MS).toISOString().slice(0, 10)}`;
        const query = { [`cf_${reviewField}`]: 'APPROVED|REJECTED', spent_on, sort: 'id' };
        const fieldOf = (one: Entry, field: number | undefined) =>
          one.custom_fields.find((each) => each.id === field)?.value;
        return (await all(send, 'time_entries', entry, query)).flatMap((one) => {
          const decision = z.enum(['APPROVED', 'REJECTED']).safeParse(fieldOf(one, reviewField));
          // Redmine ignores a filter by a field that is not used as one.
          if (!decision.success) return [];
          const reviewer = fieldOf(one, reviewerField);
          return [
            { psaId: String(one.id), decision: decision.data, reviewer: reviewer ? String(reviewer) : undefined },
          ];
        });
      },
    }),

    time: {
      settings: [settings.url, activity, billableField, reviewField],
      rights: {
        create:
          'Give Log spent time, and Log spent time for other users. The technician needs a role with Log spent time in this project.',
        read: 'Give View spent time.',
        remove: 'Give Edit time logs.',
      },
    },

    async *checks(send) {
      const { id: own, memberships } = await me(send, { include: 'memberships' });
      yield `the key belongs to user ${own}`;
      for (const { project } of memberships) {
        await requireRights(send, project.id);
        yield `the account has its rights in project ${project.id}`;
      }
      const users = await all(send, 'users', user, { status: '1' }, { headers: asAdmin });
      yield `the administrator's key lists ${users.length} users`;
      const shape = z.object({ time_entry_activities: z.array(named) });
      const path = '/enumerations/time_entry_activities.json';
      const { time_entry_activities: activities } = await send({ method: 'GET', path, response: shape });
      if (!activities.some((one) => one.id === activity)) throw new Error(`There is no activity ${activity}.`);
      yield `activity ${activity} exists`;
    },
  } satisfies Psa;
}
