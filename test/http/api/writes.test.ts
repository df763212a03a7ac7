import { describe, expect, test } from 'vitest';
import {
  importRecords,
  makeApi,
  makeKey,
  makeOrganization,
  makeWorld,
  problemOf,
  rowsOf,
  TIME,
} from '../../support/world.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[78][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('ping', () => {
  test('returns the organization, name and scopes of the key, and writes nothing', async () => {
    const { organization, key, api } = await makeWorld();
    const before = await rowsOf('audit_log', organization);
    const response = await api.send('/api/v1/ping', { key });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      ok: true,
      organizationId: organization,
      keyName: 'n8n: triage',
      scopes: ['tickets:note:write', 'tickets:time:write'],
    });
    expect(await rowsOf('audit_log', organization)).toEqual(before);
  });

  test('responds to HEAD as to GET, without a body', async () => {
    const { key, api } = await makeWorld();
    const response = await api.send('/api/v1/ping', { method: 'HEAD', key });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('');
  });
});

describe('a note', () => {
  test('a note is created with 201, stored exactly as sent, and audited with its key', async () => {
    const { organization, key, keyId, api } = await makeWorld();
    const message = '  Zeile 1\r\n𝕬ⓔ\u0301 عربي 👩‍👩‍👧\t';
    const response = await api.postNote(
      key,
      { message },
      { 'CF-Connecting-IP': '192.0.2.9', 'User-Agent': `n8n/${'x'.repeat(200)}` },
    );
    expect(response.status).toBe(201);
    const { note } = await response.json<{ note: { id: string; createdAt: string } }>();
    expect(note).toEqual({
      id: expect.stringMatching(UUID),
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    const [row, ...others] = await rowsOf('notes', organization);
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      id: note.id,
      ticket_id: '1001',
      message,
      key_id: keyId,
      created_at: Date.parse(note.createdAt),
    });
    expect((await rowsOf('audit_log', organization)).at(-1)).toEqual({
      organization_id: organization,
      seq: row?.['audit_seq'],
      at: row?.['created_at'],
      actor_type: 'api_key',
      actor_id: keyId,
      actor_name: 'n8n: triage',
      action: 'note.created',
      target_id: note.id,
      ticket_id: '1001',
      request_id: response.headers.get('X-Request-Id'),
      idempotency_key: null,
      day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      day_records: 1,
      day_bytes: new TextEncoder().encode(message).length,
      source_address: '192.0.2.9',
      user_agent: `n8n/${'x'.repeat(96)}`,
      detail: null,
    });
  });
});

describe('a time entry', () => {
  test('a time entry is created as SUBMITTED, with the rate of the active agreement, for the service account', async () => {
    const { organization, key, keyId, api } = await makeWorld();
    const response = await api.postTime(key);
    expect(response.status).toBe(201);
    const body = await response.json<{ entry: { id: string } }>();
    expect(body).toEqual({
      entry: {
        id: expect.stringMatching(UUID),
        minutes: 30,
        workDate: `${new Date().toISOString().slice(0, 10)}T00:00:00.000Z`,
        status: 'SUBMITTED',
        billable: true,
        hourlyRate: 150,
        userId: 'automation',
      },
      agreementSource: 'company_default',
    });
    expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({
      actor_id: keyId,
      action: 'time_entry.created',
      target_id: body.entry.id,
      ticket_id: '1001',
    });
  });

  test.each([
    ['1002', 120, 'organization_default'],
    ['1003', 120, 'organization_default'],
  ])(
    'a time entry on ticket %s, whose company has no active agreement, gets the default rate',
    async (ticket, hourlyRate, agreementSource) => {
      const { key, api } = await makeWorld();
      const response = await api.postTime(key, TIME, {}, ticket);
      expect(await response.json()).toMatchObject({ entry: { hourlyRate }, agreementSource });
    },
  );

  test('a time entry is credited to the technician in userEmail, ignoring case', async () => {
    const { key, api } = await makeWorld();
    const response = await api.postTime(key, { ...TIME, userEmail: 'TESS@Northwind.Example' });
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ entry: { userId: 'tess' } });
  });

  test.each([
    ['that of no user', 'nobody@northwind.example'],
    ["that of another organization's technician", 'fay@fabrikam.example'],
    ['that of an inactive technician', 'ivan@northwind.example'],
    ['that of the service account', 'automation@northwind.example'],
    ['that of a user who is not a technician', 'ada@northwind.example'],
  ])('a time entry is refused if userEmail is %s', async (_, userEmail) => {
    const { organization, key, api } = await makeWorld();
    const fay = { type: 'user', id: 'fay', email: 'fay@fabrikam.example', name: 'Fay', technician: true };
    await importRecords({ ...fay, organization: await makeOrganization() });
    const response = await api.postTime(key, { ...TIME, userEmail });
    expect(await problemOf(response)).toBe('422 technician_not_eligible');
    expect(await rowsOf('time_entries', organization)).toEqual([]);
  });

  test.each([
    ['America/New_York', '2026-11-21T04:59:59.999Z', '2026-11-20'],
    ['America/New_York', '2026-11-21T05:00:00.000Z', '2026-11-21'],
    ['Asia/Tokyo', '2026-11-21T14:59:59.999Z', '2026-11-21'],
    ['Asia/Tokyo', '2026-11-21T15:00:00.000Z', '2026-11-22'],
    ['UTC', '2026-11-21T23:59:59.999Z', '2026-11-21'],
    ['America/New_York', '2026-03-09T03:59:59.999Z', '2026-03-08'],
    ['America/New_York', '2026-03-09T04:00:00.000Z', '2026-03-09'],
  ])('a time entry in %s at %s is dated %s', async (timeZone, instant, date) => {
    const organization = await makeOrganization({ timeZone });
    const now = () => Date.parse(instant);
    const { value: key } = await makeKey(organization, {}, now);
    const response = await makeApi({ now }).postTime(key);
    expect(await response.json()).toMatchObject({ entry: { workDate: `${date}T00:00:00.000Z` } });
  });
});

describe('a ticket', () => {
  test('a ticket gets the same 404 if it is unknown, inactive, of an inactive company, malformed or in another organization', async () => {
    const { organization, key, api } = await makeWorld();
    const other = await makeOrganization();
    await importRecords(
      { type: 'ticket', organization: other, id: '2001', company: 'acme' },
      { type: 'ticket', organization, id: 'closed', company: 'acme', active: false },
      { type: 'company', organization, id: 'gone', name: 'Gone', active: false },
      { type: 'ticket', organization, id: 'of-gone', company: 'gone' },
    );
    const unavailable = ['9999', '2001', 'closed', 'of-gone'];
    const malformed = [
      'a%2Fb',
      '%2e%2e%2fx',
      'ticket 1001',
      "1001'--",
      '%00',
      '💥',
      'x'.repeat(65),
      'x'.repeat(4_000),
      '%zz',
    ];
    for (const ticket of [...unavailable, ...malformed]) {
      const response = await api.postNote(key, { message: 'x' }, {}, ticket);
      expect([ticket, await problemOf(response)]).toEqual([ticket, '404 ticket_not_found']);
      expect(await problemOf(api.postTime(key, TIME, {}, ticket))).toBe('404 ticket_not_found');
    }
    expect(await rowsOf('notes', organization)).toEqual([]);
    expect(await rowsOf('time_entries', organization)).toEqual([]);
  });

  test('an organization finds its own ticket under an id that another organization also uses', async () => {
    const one = await makeWorld();
    const two = await makeWorld();
    await one.api.postNote(one.key, { message: 'for one' });
    await two.api.postNote(two.key, { message: 'for two' });
    expect(await rowsOf('notes', one.organization)).toMatchObject([{ ticket_id: '1001', message: 'for one' }]);
    expect(await rowsOf('notes', two.organization)).toMatchObject([{ ticket_id: '1001', message: 'for two' }]);
  });
});
