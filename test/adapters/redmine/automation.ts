import assert from 'node:assert/strict';
import { SCOPE_IDS } from '../../../src/domain/record-kinds.ts';
import { withLocalD1 } from '../../../src/ops/local.ts';
import { createApiKey } from '../../../src/services/keys/create-key.ts';
import { administratorContext } from '../../support/administrator-context.ts';

/** The technician. */
export const TESS = 'tess@northwind.example';

interface Answer {
  status: number;
  code?: string;
  note?: { id: string };
  entry?: { id: string; status: string; workDate: string; hourlyRate: number };
}
interface KeyOwner {
  persistTo: string;
  organization: string;
  administrator: string;
}

/** An automation with a key of the organization. */
export async function makeAutomation(url: URL, owner: KeyOwner) {
  const key = await makeKey(owner);
  let events = 0;

  async function write(path: string, body: object, event = ++events): Promise<Answer> {
    const response = await fetch(new URL(`/api/v1/tickets/${path}`, url), {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${key}`,
        // The service may be another process by the next request.
        Connection: 'close',
        'Content-Type': 'application/json',
        'Idempotency-Key': `event-${event}`,
      },
      body: JSON.stringify(body),
    });
    return { status: response.status, ...(await response.json<Omit<Answer, 'status'>>()) };
  }
  const writeTime = (issue: string, minutes: number, email: string | undefined, description: string, event?: number) =>
    write(
      `${issue}/time-entries`,
      { minutes, description, billable: minutes !== 7, ...(email && { userEmail: email }) },
      event,
    );

  return {
    /** Adds a note. Resolves with its id. */
    addNote: async (issue: string, message: string): Promise<string> => {
      const { status, note } = await write(`${issue}/notes`, { message });
      assert.equal(status, 201);
      return note?.id ?? '';
    },
    /** Logs time, by default for the service account. All but 7 minutes are billable. */
    logTime: async (issue: string, minutes: number, email?: string, description = `${minutes} minutes`) => {
      const { status, entry } = await writeTime(issue, minutes, email, description);
      assert.equal(status, 201);
      assert.ok(entry);
      const event = events;
      /** Sends it again. Resolves with the status of the entry now. */
      const repeat = async () => (await writeTime(issue, minutes, email, description, event)).entry?.status;
      return { ...entry, minutes, description, repeat };
    },
    /** Why time cannot be logged for the technician; undefined if it can. A dry run, because it is asked many times. */
    refusal: async (issue: string) => {
      const body = { minutes: 5, description: 'Is this possible?', billable: true, userEmail: TESS };
      return (await write(`${issue}/time-entries/dry-run`, body)).code;
    },
  };
}

async function makeKey({ persistTo, organization, administrator }: KeyOwner): Promise<string> {
  const { value } = await withLocalD1(persistTo, (db) =>
    createApiKey(administratorContext(db, organization, administrator), 'twb', {
      name: 'n8n: triage',
      scopes: [...SCOPE_IDS],
    }),
  );
  return value;
}
