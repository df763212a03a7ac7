import type { RedmineInstance } from './instance.ts';
import { waitFor } from './wait-for.ts';

// Redmine as its people see it, over its REST API.

interface Journal {
  notes: string;
  private_notes: boolean;
  user: { id: number };
}
export interface TimeEntry {
  id: number;
  user: { id: number };
  hours: number;
  spent_on: string;
  comments: string;
  custom_fields: { id: number; value: string }[];
}
interface Membership {
  id: number;
  user: { id: number };
}
type Person = keyof RedmineInstance['seed']['keys'];

export function peopleOf({ url, seed }: RedmineInstance) {
  async function ask<Content>(who: Person, path: string, method = 'GET', body?: object): Promise<Content | undefined> {
    const response = await fetch(url + path, {
      method,
      headers: {
        'X-Redmine-API-Key': seed.keys[who],
        'Content-Type': 'application/json',
        // Redmine may be another process by the next request.
        Connection: 'close',
      },
      body: body ? JSON.stringify(body) : null,
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} got ${response.status} ${text}`);
    return text.trim() === '' ? undefined : JSON.parse(text);
  }
  const change = (path: string, body: object) => ask('admin', path, 'PUT', body);

  /** The notes of an issue as one of the people sees them. */
  const notesOf = async (issue: string, who: Person = 'admin'): Promise<Journal[]> => {
    const found = await ask<{ issue: { journals: Journal[] } }>(who, `/issues/${issue}.json?include=journals`);
    return found?.issue.journals.filter(({ notes }) => notes) ?? [];
  };
  const timeEntries = async (): Promise<TimeEntry[]> => {
    const found = await ask<{ time_entries: TimeEntry[] }>('admin', '/time_entries.json?limit=100&sort=id');
    return found?.time_entries ?? [];
  };
  const fieldOf = ({ custom_fields }: TimeEntry, name: string) =>
    custom_fields.find(({ id }) => id === seed.ids[name])?.value;

  return {
    ask,
    change,
    notesOf,
    timeEntries,
    fieldOf,

    /** The note of a record, when it is there with this text. */
    note: (issue: string, id: string, text = '') =>
      waitFor(`the note ${id}`, async () =>
        (await notesOf(issue)).find(({ notes }) => notes.includes(text) && notes.endsWith(`[twb:${id}]`)),
      ),
    /** The time entry of a record, when it is there and so. */
    timeEntry: (id: string, isSo: (entry: TimeEntry) => boolean = () => true) =>
      waitFor(`the time entry ${id}`, async () =>
        (await timeEntries()).find((entry) => entry.comments.endsWith(`[twb:${id}]`) && isSo(entry)),
      ),

    remove: (path: string) => ask('admin', path, 'DELETE'),

    /** Creates an issue in Acme. Resolves with its id. */
    addIssue: async (): Promise<string> => {
      const issue = { project_id: 1, subject: 'One more' };
      const created = await ask<{ issue: { id: number } }>('admin', '/issues.json', 'POST', { issue });
      return String(created?.issue.id);
    },

    /** Gives one of the people this role alone in a project. */
    setRole: async (project: string, who: Person, role: string) => {
      const found = await ask<{ memberships: Membership[] }>('admin', `/projects/${project}/memberships.json`);
      const id = found?.memberships.find(({ user }) => String(user.id) === seed.users[who])?.id;
      await change(`/memberships/${id}.json`, { membership: { role_ids: [seed.roles[role]] } });
    },
  };
}
