import { describe, expect, test } from 'vitest';
import type { RecordKind } from '../../src/domain/record-kinds.ts';
import { changeApiKey } from '../../src/services/keys/change-key.ts';
import { getOwnKey } from '../../src/services/keys/read-keys.ts';
import { redactRecord } from '../../src/services/work/record-services.ts';
import { callTool, type ToolResult } from '../support/tools.ts';
import {
  asAdmin,
  asOperator,
  importRecords,
  makeApi,
  makeKey,
  makeOrganization,
  rotate,
  rowsOf,
  seenByProber,
  TIME,
} from '../support/world.ts';

// The organization has three companies: acme with ticket 1001, globex with 1002 and initech with 1003.

const UNKNOWN = '4711';
const keyed = (idempotencyKey: string) => ({ 'Idempotency-Key': idempotencyKey });

const KINDS = [
  { kind: 'note', table: 'notes', path: 'notes', body: { message: 'Done' }, other: { message: 'Done again' } },
  { kind: 'time_entry', table: 'time_entries', path: 'time-entries', body: TIME, other: { ...TIME, minutes: 31 } },
] as const satisfies { kind: RecordKind; table: 'notes' | 'time_entries'; path: string; body: object; other: object }[];

const PATHS = KINDS.map(({ path, body }) => [path, body] as const);

/** An organization with a key for acme alone, a key for all companies, and writes with each. */
async function world(companies = 'acme') {
  const organization = await makeOrganization();
  const free = await makeKey(organization);
  const bound = await makeKey(organization, { companies });
  // Within one minute: refused uses of a key are stored once in each.
  let now = Date.now() + 60_000 - (Date.now() % 60_000);
  const api = makeApi({ now: () => now++ });
  const send = (
    key: { value: string },
    path: string,
    body: object,
    ticket = '1001',
    headers: Record<string, string> = {},
  ) => api.post(`/api/v1/tickets/${ticket}/${path}`, key.value, body, headers);
  const limit = async (next: string | undefined) => {
    const admin = asAdmin(organization);
    const key = await getOwnKey(admin, bound.id);
    return changeApiKey(admin, key, { name: key.name, companies: next });
  };
  const move = (ticket: string, company: string) =>
    importRecords({ type: 'ticket', organization, id: ticket, company });
  const setCompany = (id: string, active: boolean) =>
    importRecords({ type: 'company', organization, id, name: id, active });
  return { organization, free, bound, api, send, limit, move, setCompany };
}

/** The response without the ids of ticket and request, and without what the request counted. */
async function withoutTicket(response: Response, ticket: string) {
  const { status, headers, body } = await seenByProber(response);
  const named = { ...JSON.parse(body), requestId: '' };
  return {
    status,
    headers: headers.filter(([name]) => !name.startsWith('ratelimit')),
    body: JSON.stringify(named).replaceAll(ticket, 'TICKET'),
    bytes: body.length - ticket.length,
  };
}

const reasonsOf = async (organization: string) =>
  (await rowsOf('refused_uses', organization)).map(({ reason, count }) => [reason, count]);

describe('a key that is limited to companies', () => {
  test('writes on the tickets of its companies, and on no others', async () => {
    const { organization, bound, send } = await world('globex acme');
    for (const [path, body] of PATHS) {
      const statuses = [];
      for (const ticket of ['1001', '1002', '1003', UNKNOWN])
        statuses.push((await send(bound, path, body, ticket)).status);
      expect(statuses).toEqual([201, 201, 404, 404]);
    }
    expect((await rowsOf('api_keys', organization)).map(({ companies }) => companies)).toEqual(['', 'acme globex']);
    for (const { table } of KINDS)
      expect((await rowsOf(table, organization)).map((row) => row['ticket_id'])).toEqual(['1001', '1002']);
  });

  test('gets the same bytes for a ticket of another company as for one that does not exist', async () => {
    const { bound, api, send } = await world();
    for (const [path, body] of PATHS) {
      for (const headers of [{}, keyed(`${path}:1`), { ...keyed(`${path}:2`), Prefer: 'handling=strict' }]) {
        const other = await send(bound, path, body, '1002', headers);
        const unknown = await send(bound, path, body, UNKNOWN, headers);
        expect(other.status).toBe(404);
        expect(await withoutTicket(other, '1002')).toEqual(await withoutTicket(unknown, UNKNOWN));
      }
    }
    await api.settled();
  });

  test('is told nothing by ids that only begin like those of its companies', async () => {
    const { organization, bound, send } = await world();
    await importRecords(
      { type: 'company', organization, id: 'acm', name: 'Acm' },
      { type: 'company', organization, id: 'acme-2', name: 'Acme 2' },
      { type: 'company', organization, id: 'ACME', name: 'Acme' },
      { type: 'ticket', organization, id: '1', company: 'acm' },
      { type: 'ticket', organization, id: '2', company: 'acme-2' },
      { type: 'ticket', organization, id: '3', company: 'ACME' },
    );
    for (const ticket of ['1', '2', '3'])
      expect((await send(bound, 'notes', { message: 'x' }, ticket)).status).toBe(404);
  });

  test('is recorded among the refused uses for a ticket of another company with another reason than for an unknown one', async () => {
    const { organization, bound, free, api, send } = await world();
    await send(bound, 'notes', { message: 'x' }, UNKNOWN);
    await send(free, 'notes', { message: 'x' }, UNKNOWN);
    await api.settled();
    const unknown = [
      ['ticket_not_found', 1],
      ['ticket_not_found', 1],
    ];
    expect(await reasonsOf(organization)).toEqual(unknown);
    await send(bound, 'notes', { message: 'x' }, '1002');
    await api.settled();
    expect((await reasonsOf(organization)).sort()).toEqual([['company_not_allowed', 1], ...unknown]);
  });

  test('follows a ticket that moves, and admits nothing for a company that is not active', async () => {
    const { bound, send, move, setCompany } = await world();
    const write = async (ticket: string) => (await send(bound, 'time-entries', TIME, ticket)).status;
    await move('1001', 'globex');
    await move('1002', 'acme');
    expect([await write('1001'), await write('1002')]).toEqual([404, 201]);
    await setCompany('acme', false);
    expect([await write('1001'), await write('1002')]).toEqual([404, 404]);
    await setCompany('acme', true);
    expect([await write('1001'), await write('1002')]).toEqual([404, 201]);
  });

  test('acts on the next write of every isolate when its companies change', async () => {
    const { organization, bound, limit, send } = await world();
    const isolates = [makeApi(), makeApi()];
    const writeAll = (ticket: string) =>
      Promise.all(isolates.map(async (api) => (await api.postNote(bound.value, undefined, {}, ticket)).status));
    expect(await writeAll('1001')).toEqual([201, 201]);
    expect(await limit('globex')).toBe('changed');
    expect([await writeAll('1001'), await writeAll('1002')]).toEqual([
      [404, 404],
      [201, 201],
    ]);
    expect(await limit(undefined)).toBe('changed');
    expect(await writeAll('1001')).toEqual([201, 201]);
    expect((await send(bound, 'notes', { message: 'x' }, '1003')).status).toBe(201);
    const log = (await rowsOf('audit_log', organization)).filter(({ action }) => action === 'api_key.changed');
    expect(log.map(({ detail }) => detail)).toEqual(['companies acme to globex', 'companies globex to any']);
  });

  test('has a successor with the same companies, and its creation shows them in the audit log', async () => {
    const { organization, bound, send } = await world();
    const successor = await rotate(organization, bound.id, { grace: '1h' });
    for (const key of [bound, successor]) {
      expect((await send(key, 'notes', { message: 'x' })).status).toBe(201);
      expect((await send(key, 'notes', { message: 'x' }, '1002')).status).toBe(404);
    }
    const details = (await rowsOf('audit_log', organization)).map(({ detail }) => detail);
    expect(details).toContain(`${bound.name}, companies acme`);
  });

  test('is never for all companies because of an empty list', async () => {
    const { organization, limit } = await world();
    await expect(limit('')).rejects.toMatchObject({ errors: [{ pointer: '/companies', code: 'invalid_format' }] });
    await expect(makeKey(organization, { companies: ' ' })).rejects.toThrow('has no company');
    expect((await rowsOf('api_keys', organization)).map(({ companies }) => companies)).toEqual(['', 'acme']);
  });

  test('is refused with a company that is unknown or of another organization, which the error names', async () => {
    const { organization, limit } = await world();
    const other = await makeOrganization();
    await importRecords({ type: 'company', organization: other, id: 'theirs', name: 'Theirs' });
    const unknown = {
      errors: [
        {
          pointer: '/companies',
          code: 'unknown',
          detail:
            'companies has "nobody", which is not a company of your organization; has "theirs", which is not a company of your organization',
        },
      ],
    };
    await expect(limit('acme theirs nobody')).rejects.toMatchObject(unknown);
    await expect(makeKey(organization, { companies: 'theirs nobody' })).rejects.toMatchObject(unknown);
    await expect(limit('a/b')).rejects.toThrow('has "a/b", which is not the id of a company');
    const many = Array.from({ length: 51 }, (_, number) => `c${number}`).join(' ');
    await expect(limit(many)).rejects.toThrow('has 51 companies; write at most 50');
  });

  test('can have fifty companies with the longest ids', async () => {
    const { organization, bound, limit, send } = await world();
    const ids = Array.from({ length: 50 }, (_, number) => `${number}`.padStart(64, 'c'));
    await importRecords(...ids.map((id) => ({ type: 'company', organization, id, name: id })), {
      type: 'ticket',
      organization,
      id: 'last',
      company: ids[49],
    });
    expect(await limit(ids.join(' '))).toBe('changed');
    expect((await send(bound, 'notes', { message: 'x' }, 'last')).status).toBe(201);
    expect((await send(bound, 'notes', { message: 'x' })).status).toBe(404);
  });
});

describe.each(KINDS)('the replay of a $kind with a key that is limited to companies', ({ kind, path, body, other }) => {
  /** Sends with each preference, and returns status, code and body. */
  async function replays(api: ReturnType<typeof makeApi>, key: { value: string }, sent: object, ticket: string) {
    const answers = [];
    for (const Prefer of ['handling=lenient', 'handling=strict']) {
      const headers = { ...keyed('triage:1'), Prefer };
      const response = await api.post(`/api/v1/tickets/${ticket}/${path}`, key.value, sent, headers);
      answers.push({ status: response.status, body: await response.text() });
    }
    return answers;
  }
  const statuses = (answers: { status: number }[]) => answers.map(({ status }) => status);

  test('is returned for a record of its own rotation chain, wherever its ticket is now', async () => {
    const { organization, bound, api, send, move, setCompany } = await world();
    const created = await (await send(bound, path, body, '1001', keyed('triage:1'))).json<object>();
    const successor = await rotate(organization, bound.id, { grace: '1h' });
    await move('1001', 'globex');
    await setCompany('globex', false);
    for (const key of [bound, successor]) {
      const answers = await replays(api, key, body, '1001');
      expect(statuses(answers)).toEqual([200, 200]);
      for (const answer of answers) expect(JSON.parse(answer.body)).toEqual({ ...created, idempotentReplay: true });
      // The ticket of the request decides nothing, so it tells nothing.
      for (const ticket of ['1002', UNKNOWN]) {
        const [mismatch] = await replays(api, key, body, ticket);
        expect(JSON.parse(mismatch?.body ?? '')).toMatchObject({ idempotencyMismatch: true, ticketId: '1001' });
      }
    }
  });

  test('is returned for a record of another key on a ticket of its companies', async () => {
    const { free, bound, api, send } = await world();
    const created = await (await send(free, path, body, '1001', keyed('triage:1'))).json<object>();
    const same = await replays(api, bound, body, '1001');
    expect(statuses(same)).toEqual([200, 200]);
    expect(JSON.parse(same[0]?.body ?? '')).toEqual({ ...created, idempotentReplay: true });
    expect(statuses(await replays(api, bound, other, '1001'))).toEqual([200, 409]);
    expect(statuses(await replays(api, bound, body, '1002'))).toEqual([404, 404]);
    expect(statuses(await replays(api, bound, body, UNKNOWN))).toEqual([404, 404]);
  });

  test('is 404 or a 409 without any field for a record of another key on a ticket of another company', async () => {
    const { organization, free, bound, api, send } = await world();
    const created = await (await send(free, path, body, '1002', keyed('triage:1'))).text();
    for (const sent of [body, other]) {
      expect(statuses(await replays(api, bound, sent, '1002'))).toEqual([404, 404]);
      const answers = await replays(api, bound, sent, '1001');
      expect(statuses(answers)).toEqual([409, 409]);
      for (const answer of answers) {
        const { requestId, ...problem } = JSON.parse(answer.body);
        expect(problem).toEqual({
          type: 'https://api.example/docs/errors#idempotency_mismatch',
          title: 'Idempotency-Key used for a different request',
          status: 409,
          code: 'idempotency_mismatch',
          detail:
            'A different request used this Idempotency-Key before, so nothing was written. Check that it identifies one event, and send another event with its own Idempotency-Key.',
        });
        for (const text of [...created.matchAll(/"([^"]{5,})"/g)].map(([, found = '']) => found))
          if (!/^(note|entry|minutes|description|billable|createdAt|status)$/.test(text))
            expect(answer.body.replace(requestId, '')).not.toContain(text);
      }
    }
    await api.settled();
    expect(await reasonsOf(organization)).toEqual([
      ['company_not_allowed', 4],
      ['idempotency_mismatch', 4],
    ]);
    const [, use] = await rowsOf('refused_uses', organization);
    const lost = { idempotencyKey: 'triage:1', ticketId: '1001' };
    expect(JSON.parse(String(use?.['lost_writes']))).toMatchObject([lost, lost, lost, lost]);
    // Keys for all companies get the replay of the specification, with its ticket.
    const [replay] = await replays(api, free, body, '1001');
    expect(JSON.parse(replay?.body ?? '')).toMatchObject({ idempotencyMismatch: true, ticketId: '1002' });
  });

  test('follows the ticket of the record, and is a 409 if its company is not active', async () => {
    const { organization, free, bound, api, send, move, setCompany } = await world('acme globex');
    await send(free, path, body, '1002', keyed('triage:1'));
    expect(statuses(await replays(api, bound, body, '1002'))).toEqual([200, 200]);
    await setCompany('globex', false);
    expect(statuses(await replays(api, bound, body, '1001'))).toEqual([409, 409]);
    expect(statuses(await replays(api, bound, body, '1002'))).toEqual([404, 404]);
    await move('1002', 'initech');
    expect(statuses(await replays(api, bound, body, '1001'))).toEqual([409, 409]);
    await move('1002', 'acme');
    expect(statuses(await replays(api, bound, body, '1002'))).toEqual([200, 200]);
    // An inactive ticket of its companies: as for every key, the record exists.
    await importRecords({ type: 'ticket', organization, id: '1002', company: 'acme', active: false });
    expect(statuses(await replays(api, bound, body, '1001'))).toEqual([200, 409]);
  });

  test('does not show a redacted record on a ticket of another company', async () => {
    const { organization, free, bound, api, send } = await world();
    const created = await (await send(free, path, body, '1002', keyed('triage:1'))).text();
    const id = /"id":"([^"]+)"/.exec(created)?.[1] ?? '';
    await redactRecord(asOperator(), { organization, kind, id, by: 'Ops' });
    expect(statuses(await replays(api, bound, body, '1001'))).toEqual([409, 409]);
    expect(statuses(await replays(api, free, other, '1001'))).toEqual([200, 200]);
  });
});

const isUnavailable = callTool === undefined;

describe.skipIf(isUnavailable)('a tool with a key that is limited to companies', () => {
  test('gets the errors of the API, and no field of another record', async () => {
    const { organization, free, bound } = await world();
    const api = makeApi({ agents: true });
    const call = async (key: { value: string }, ticketId: string) => {
      const args = { ticketId, message: 'Restarted the spooler', idempotencyKey: 'triage:evt-1' };
      const response = await callTool?.(api, key.value, 'add_internal_note', args);
      return (await response?.json<{ result: ToolResult }>())?.result;
    };
    const written = await call(free, '1002');
    const id = String(written?.structuredContent['id']);
    const hidden = await call(bound, '1001');
    expect(hidden).toMatchObject({ isError: true, structuredContent: { code: 'idempotency_mismatch' } });
    expect(JSON.stringify(hidden)).not.toContain(id);
    expect(JSON.stringify(hidden)).not.toContain('1002');
    expect(await call(bound, '1002')).toMatchObject({ isError: true, structuredContent: { code: 'ticket_not_found' } });
    await api.settled();
    expect(await reasonsOf(organization)).toEqual([
      ['company_not_allowed', 1],
      ['idempotency_mismatch', 1],
    ]);
    expect(await rowsOf('notes', organization)).toHaveLength(1);
  });
});
