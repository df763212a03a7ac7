import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { dateIn } from '../../src/domain/calendar.ts';
import { ledgerInconsistencies } from '../support/ledger.ts';
import { loggedLines } from '../support/searched-logs.ts';
import {
  changeOrganization,
  makeApi,
  makeCountedApi,
  makeKey,
  makeOrganization,
  makeWorld,
  problemOf,
  revoke,
  rowsOf,
  seenByProber,
  TIME,
} from '../support/world.ts';

const keyed = (idempotencyKey: string) => ({ 'Idempotency-Key': idempotencyKey });
const STRICT = { Prefer: 'handling=strict' };

const KINDS = [
  { kind: 'note', table: 'notes', path: 'notes', body: { message: 'Done' }, other: { message: 'Done again' } },
  { kind: 'time_entry', table: 'time_entries', path: 'time-entries', body: TIME, other: { ...TIME, minutes: 31 } },
] as const;

const on = (ticket: string, path: string) => `/api/v1/tickets/${ticket}/${path}`;
const dry = (ticket: string, path: string) => `${on(ticket, path)}/dry-run`;

/** A problem without what belongs to one request, and the headers without the remaining quota. */
async function outcomeOf(response: Response) {
  const { status, headers, body } = await seenByProber(response);
  const names = headers.map(([name]) => name).filter((name) => !name.startsWith('ratelimit'));
  const problem = status === 200 ? {} : JSON.parse(body);
  delete problem.requestId;
  return { status, names, problem };
}

describe.each(KINDS)('a dry run of a $kind', ({ table, path, body, other }) => {
  test('is accepted as the write would be, writes no record, and leaves its Idempotency-Key unused', async () => {
    const { organization, key, api } = await makeWorld();
    const date = { workDate: `${dateIn('UTC', Date.now())}T00:00:00.000Z` };
    for (let round = 0; round < 2; round++) {
      const response = await api.post(dry('1001', path), key, body, keyed('triage:1'));
      expect([response.status, response.headers.get('Idempotency-Replayed')]).toEqual([200, null]);
      expect(await response.json()).toEqual({
        ...{ dryRun: true, ticketId: '1001' },
        ...(path === 'notes' ? {} : date),
      });
    }
    expect([await rowsOf(table, organization), await rowsOf('key_days', organization)]).toEqual([[], []]);
    const audited = (await rowsOf('audit_log', organization)).map(({ action }) => action);
    expect(audited).toEqual(['api_key.created']);
    expect((await api.post(on('1001', path), key, body, keyed('triage:1'))).status).toBe(201);
    expect(await ledgerInconsistencies(env.DB, organization)).toEqual([]);
  });

  test('shows a used Idempotency-Key without the record, and is a 409 if it is strict and different', async () => {
    const { organization, key, api } = await makeWorld();
    const created = await (await api.post(on('1001', path), key, body, keyed('triage:1'))).text();
    const id = /"id":"([^"]+)"/.exec(created)?.[1] ?? '';
    const replay = { dryRun: true, ticketId: '1001', idempotentReplay: true };
    for (const [sent, headers] of [
      [body, {}],
      [body, STRICT],
      [other, {}],
    ] as const) {
      const response = await api.post(dry('1001', path), key, sent, { ...keyed('triage:1'), ...headers });
      expect(response.headers.get('Preference-Applied')).toBe('Prefer' in headers ? 'handling=strict' : null);
      const text = await response.text();
      expect([response.status, JSON.parse(text)]).toEqual([200, replay]);
      expect(text).not.toContain(id);
    }
    const headers = { ...keyed('triage:1'), ...STRICT };
    const strict = await outcomeOf(await api.post(dry('1002', path), key, other, headers));
    expect(strict.problem).toMatchObject({ status: 409, code: 'idempotency_mismatch' });
    await api.settled();
    // Nothing is lost by a dry run.
    expect(await rowsOf('refused_uses', organization)).toEqual([]);
    // Only the write says where the record is.
    const written = await outcomeOf(await api.post(on('1002', path), key, other, headers));
    expect(written).toEqual({
      ...strict,
      problem: { ...strict.problem, detail: expect.stringContaining(' on ticket 1001 ') },
    });
    expect(JSON.stringify(strict)).not.toContain('1001');
  });

  test('gets every error that the write would get', async () => {
    const { organization, key, api } = await makeWorld();
    const bound = await makeKey(organization, { companies: 'globex' });
    await api.post(on('1001', path), key, body, keyed('of-another-key'));
    const revoked = await makeKey(organization);
    await revoke(organization, revoked.id);
    const scopeless = await makeKey(organization, {
      scopes: [path === 'notes' ? 'tickets:time:write' : 'tickets:note:write'],
    });
    const inside = await makeKey(organization, { networks: '203.0.113.0/24' });
    const withoutPsa = await makeKey(await makeOrganization({ psa: false }));
    const full = makeApi({ config: { dayLimits: { key: { records: 1, bytes: 1_000_000 }, organization: null } } });
    const organizationFull = makeApi({
      config: { dayLimits: { key: null, organization: { records: 1, bytes: 1_000_000 } } },
    });
    type Case = [string, string, typeof api, string, unknown, Record<string, string>?, string?];
    const cases: Case[] = [
      ['401', 'an unknown key', api, `${key}x`, body],
      ['401', 'a revoked key', api, revoked.value, body],
      ['401', 'a key without the scope', api, scopeless.value, body],
      ['401', 'a key for other networks', api, inside.value, body],
      ['403', 'no plan', api, withoutPsa.value, body],
      ['404', 'an unknown ticket', api, key, body, {}, '4711'],
      ['404', 'a ticket of another company', api, bound.value, body],
      ['409', 'a record of another company', api, bound.value, body, keyed('of-another-key'), '1002'],
      ['400', 'an empty Idempotency-Key', api, key, body, keyed('')],
      ['400', 'no JSON', api, key, '{'],
      ['415', 'another media type', api, key, body, { 'Content-Type': 'text/plain' }],
      ['413', 'a body that is too large', api, key, 'x'.repeat(600_000)],
      ['422', 'an unknown field', api, key, { ...body, hourlyRate: 1 }],
      ['429', 'the daily limit of the key', full, key, body],
      ['429', 'the daily limit of the organization', organizationFull, key, body],
    ];
    if (path === 'time-entries')
      cases.push(['422', 'a technician', api, key, { ...body, userEmail: 'ivan@northwind.example' }]);
    for (const [status, why, through, bearer, sent, headers = {}, ticket = '1001'] of cases) {
      const [asked, written] = [
        await outcomeOf(await through.post(dry(ticket, path), bearer, sent, headers)),
        await outcomeOf(await through.post(on(ticket, path), bearer, sent, headers)),
      ];
      expect([why, String(asked.status), asked]).toEqual([why, status, written]);
    }
    expect(await rowsOf(table, organization)).toHaveLength(1);
    const limited = makeApi({ config: { keyLimit: { quota: 1, windowMs: 10_000 } } });
    const { value: fresh } = await makeKey(organization);
    expect((await limited.post(dry('1001', path), fresh, body)).status).toBe(200);
    expect(await problemOf(limited.post(on('1001', path), fresh, body))).toBe('429 rate_limited');
    expect(await problemOf(limited.post(dry('1001', path), fresh, body))).toBe('429 rate_limited');
  });

  test('has a work date in the time zone that the organization has now', async () => {
    const organization = await makeOrganization({ timeZone: 'UTC' });
    const { value } = await makeKey(organization);
    const api = makeApi();
    const timeZone = 'Pacific/Kiritimati';
    expect((await api.post(dry('1001', path), value, body)).status).toBe(200);
    await changeOrganization(organization, { timeZone });
    const { workDate } = await (await api.post(dry('1001', path), value, body)).json<{ workDate?: string }>();
    expect(workDate?.slice(0, 10)).toBe(path === 'notes' ? undefined : dateIn(timeZone, Date.now()));
  });

  test('needs only the scope of the write, and costs one D1 call with a cached key', async () => {
    const { organization } = await makeWorld();
    const { value } = await makeKey(organization, {
      scopes: [path === 'notes' ? 'tickets:note:write' : 'tickets:time:write'],
    });
    const { api, d1 } = makeCountedApi();
    await api.post(dry('1001', path), value, body);
    await api.settled();
    d1.length = 0;
    expect((await api.post(dry('1001', path), value, body)).status).toBe(200);
    expect(d1.map(({ statements, rowsWritten }) => [statements, rowsWritten])).toEqual([[1, 0]]);
  });
});

test('a dry run is in the log, and a refused use only for a ticket of another company', async () => {
  const { organization, key, keyId } = await makeWorld();
  const api = makeApi();
  await api.post(dry('1001', 'notes'), key, { message: 'x' });
  await api.post(dry('4711', 'notes'), key, { message: 'x' });
  await api.post(dry('1001', 'time-entries'), key, {});
  await api.settled();
  expect(await rowsOf('refused_uses', organization)).toEqual([]);
  const bound = await makeKey(organization, { companies: 'globex' });
  await api.post(dry('1001', 'notes'), bound.value, { message: 'x' });
  await api.settled();
  expect(await rowsOf('refused_uses', organization)).toMatchObject([
    { key_id: bound.id, reason: 'company_not_allowed', count: 1 },
  ]);
  const lines = loggedLines('request').filter(
    ({ route, key: id }) => id === keyId && String(route).endsWith('/dry-run'),
  );
  expect(lines.map(({ dryRun }) => dryRun)).toEqual([true, true, true]);
});
