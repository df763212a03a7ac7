import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { generateKey } from '../../../src/domain/api-key.ts';
import { forgetOldRefusedRequests } from '../../../src/services/forget.ts';
import { type NewRefusedRequest, recordRefusal } from '../../../src/services/keys/record-refusal.ts';
import { countD1 } from '../../support/d1.ts';
import { refusedRequest } from '../../support/refused-requests.ts';
import { copyKey } from '../../support/settings.ts';
import {
  asOperator,
  changeOrganization,
  importRecords,
  makeApi,
  makeKey,
  makeOrganization,
  makeWorld,
  NOTE,
  revoke,
  rowsOf,
  TIME,
} from '../../support/world.ts';

const PAST = { now: () => Date.now() + 2 * 3_600_000 };
const inOneHour = () => new Date(Date.now() + 3_600_000).toISOString();

type Made = Awaited<ReturnType<typeof makeWorld>>;
type Send = (world: Made) => Promise<Response> | Response;

const json = { 'Content-Type': 'application/json' };
const raw = ({ api, key }: Pick<Made, 'api' | 'key'>, body: BodyInit, headers: Record<string, string> = json) =>
  api.send('/api/v1/tickets/1001/notes', { method: 'POST', key, body, headers });

/** A request that is refused, by its status and reason, and what is stored of it besides. */
const REFUSALS: Record<string, readonly [Send, Partial<Record<string, unknown>>?]> = {
  '400 malformed_json': [(world) => raw(world, '{')],
  '400 invalid_encoding': [(world) => raw(world, Uint8Array.of(0xff))],
  '400 invalid_idempotency_key': [({ api, key }) => api.postNote(key, NOTE, { 'Idempotency-Key': ' a b ' })],
  '404 not_found': [({ api, key }) => api.send('/api/v1/nothing', { key }), { ticket_id: null }],
  '404 not_found with a final slash': [
    ({ api, key }) => api.send('/api/v1/tickets/1001/notes/', { method: 'POST', key, body: '{}', headers: json }),
  ],
  '404 ticket_not_found': [({ api, key }) => api.postNote(key, NOTE, {}, '7777'), { ticket_id: '7777' }],
  '405 method_not_allowed': [({ api, key }) => api.send('/api/v1/tickets/1001/notes', { key })],
  '409 idempotency_mismatch': [
    async ({ api, key }) => {
      await api.postNote(key, NOTE, { 'Idempotency-Key': 'triage:evt-1' });
      const headers = { 'Idempotency-Key': 'triage:evt-1', Prefer: 'handling=strict' };
      return api.postNote(key, { message: 'Another text' }, headers);
    },
  ],
  '413 body_too_large': [(world) => raw(world, JSON.stringify({ message: 'x'.repeat(600_000) }))],
  '415 unsupported_media_type': [(world) => raw(world, '{}', { 'Content-Type': 'text/plain' })],
  '422 validation_failed': [
    ({ api, key }) => api.postTime(key, { ...TIME, minutes: 0, billable: 'yes' }),
    { pointers: '["/minutes","/billable"]' },
  ],
  '422 technician_not_eligible': [
    ({ api, key }) => api.postTime(key, { ...TIME, userEmail: 'Former@northwind.example' }),
    { user_email: 'former@northwind.example' },
  ],
  '429 rate_limited': [
    async ({ key }) => {
      const api = makeApi({ config: { keyLimit: { quota: 1, windowMs: 60_000 } } });
      await api.postNote(key);
      const answer = await api.postNote(key);
      await api.settled();
      return answer;
    },
  ],
  '429 daily_limit_reached': [
    async ({ organization }) => {
      const limited = await makeKey(organization, { dayLimit: { records: 1 } });
      const api = makeApi();
      await api.postNote(limited.value);
      const answer = await api.postNote(limited.value);
      await api.settled();
      return answer;
    },
  ],
  '403 psa_not_included': [
    async ({ organization, api, key }) => {
      await changeOrganization(organization, { psa: false });
      return api.postNote(key);
    },
  ],
  '404 company_not_allowed': [
    async ({ organization, api }) => {
      await importRecords({ type: 'company', organization, id: 'globex', name: 'Globex' });
      const limited = await makeKey(organization, { companies: 'globex' });
      return api.postNote(limited.value);
    },
  ],
  '401 revoked': [
    async ({ organization, keyId, key, api }) => {
      await revoke(organization, keyId);
      return api.postNote(key);
    },
  ],
  '401 expired': [
    async ({ organization }) => {
      const { value } = await makeKey(organization, { expires: inOneHour() });
      const api = makeApi(PAST);
      const answer = await api.postNote(value);
      await api.settled();
      return answer;
    },
  ],
  '401 scope_missing': [
    async ({ organization, api }) => {
      const { value } = await makeKey(organization, { scopes: ['tickets:time:write'] });
      return api.postNote(value);
    },
  ],
  '401 address_not_allowed': [
    async ({ organization, api }) => {
      const { value } = await makeKey(organization, { networks: '192.0.2.0/24' });
      return api.postNote(value, NOTE, { 'CF-Connecting-IP': '198.51.100.7' });
    },
    { source_address: '198.51.100.7' },
  ],
  '401 organization_inactive': [
    async ({ organization, api, key }) => {
      await changeOrganization(organization, { active: false });
      return api.postNote(key);
    },
  ],
};

describe('the log of refused requests', () => {
  test.each(Object.entries(REFUSALS))('has a request that was refused with %s', async (refusal, [send, stored]) => {
    const world = await makeWorld();
    const answer = await send(world);
    await world.api.settled();
    const [status, reason] = refusal.split(' ');
    expect(answer.status).toBe(Number(status));
    const rows = await rowsOf('refused_requests', world.organization);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      request_id: answer.headers.get('X-Request-Id'),
      status: Number(status),
      reason,
      pointers: null,
      ticket_id: '1001',
      user_email: null,
      ...stored,
    });
  });

  test('has no request of an unknown, malformed or blocked key, and none that was accepted', async () => {
    const { organization, keyId, key } = await makeWorld();
    const all = async () => (await env.DB.prepare('select count(*) as count from refused_requests').first())?.['count'];
    const before = await all();
    const api = makeApi({ config: { blockedKeys: new Set([(await makeKey(organization)).id]) } });
    const blocked = makeApi({ config: { blockedKeys: new Set([keyId]) } });
    const statuses = [
      await api.postNote(generateKey('twb')),
      await api.postNote('no key'),
      await api.send('/api/v1/ping'),
      await blocked.postNote(key),
      await api.postNote(key),
      await api.send('/api/v1/ping', { key }),
    ].map(({ status }) => status);
    await Promise.all([api.settled(), blocked.settled()]);
    expect(statuses).toEqual([401, 401, 401, 401, 201, 200]);
    expect(await all()).toBe(before);
  });

  test('has nothing that a body contained, no name of an unknown field, and no pasted key', async () => {
    const { organization, key, api } = await makeWorld();
    const pasted = generateKey('twb');
    const secret = 'hunter2';
    const headers = { 'User-Agent': `n8n ${pasted}`, 'Idempotency-Key': `${secret} ${secret}` };
    await api.postNote(key, { message: secret.repeat(10_000) }, headers, secret);
    await api.postNote(key, { message: secret, [secret]: secret, [pasted]: pasted }, headers, pasted);
    await api.postNote(key, { message: { [secret]: [secret] } }, headers, `the ${secret}`.replaceAll(' ', '%20'));
    await api.postTime(key, { minutes: secret, description: [secret], billable: secret, userEmail: secret }, headers);
    await api.postTime(key, { ...TIME, description: secret, userEmail: `${secret}@northwind.example`, minutes: 0 });
    await api.postTime(key, { ...TIME, description: secret, userEmail: 'former@northwind.example' });
    await raw({ api, key }, `{"message":"${secret}`);
    await raw({ api, key }, secret, { 'Content-Type': `text/${secret}` });
    await api.send(`/api/v1/${secret}?${secret}=${secret}`, { key });
    await api.settled();
    const rows = await rowsOf('refused_requests', organization);
    expect(rows).toHaveLength(9);
    const [{ ticket_id, ...first } = {}, ...others] = rows;
    // A ticket id can be any word, and is the only value that is stored.
    expect(ticket_id).toBe(secret);
    const text = JSON.stringify([first, others]);
    expect(text).not.toContain(secret);
    expect(text).not.toContain(pasted.slice(4, 16));
    expect(text).toContain('n8n twb_[removed]');
    expect(rows.map(({ pointers }) => pointers)).toContain('["/?"]');
  });

  test('keeps the latest 50 requests of a key, also if another key has more', async () => {
    const { organization, keyId } = await makeWorld();
    const other = await makeKey(organization);
    const add = (key: string, request: NewRefusedRequest) =>
      recordRefusal(asOperator(), { organizationId: organization, keyId: key }, { request });
    await add(other.id, refusedRequest('0000'));
    for (let index = 1; index <= 53; index++) await add(keyId, refusedRequest(String(index).padStart(4, '0')));
    const rows = await rowsOf('refused_requests', organization);
    expect(rows.filter(({ key_id }) => key_id === other.id)).toHaveLength(1);
    const kept = rows.filter(({ key_id }) => key_id === keyId).map(({ request_id }) => String(request_id));
    expect([kept.length, kept.toSorted()[0]]).toEqual([50, '0004']);
  });

  test('keeps the latest requests of each reason of a key, however many there were of another one', async () => {
    const { organization, keyId } = await makeWorld();
    const reasons = ['not_found', 'not_found', 'revoked', ...Array<string>(60).fill('rate_limited')];
    for (const [index, reason] of reasons.entries()) {
      const request = refusedRequest(String(index).padStart(4, '0'), { reason });
      await recordRefusal(asOperator(), { organizationId: organization, keyId }, { request });
    }
    const kept = (await rowsOf('refused_requests', organization)).map((row) => String(row['request_id'])).toSorted();
    expect([kept.length, ...kept.slice(0, 4)]).toEqual([50, '0000', '0001', '0002', '0016']);
  });

  test('gets a row for the same few reads however many requests the organization has, and the daily job keeps 5,000', async () => {
    // Old rows of other files would use up the small limits below.
    await forgetOldRefusedRequests(asOperator());
    const { organization, keyId } = await makeWorld();
    const other = await makeWorld();
    await env.DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 5001) insert into refused_requests
        select ?1, printf('%05d', i), ?2, ?3, 404, 'not_found', null, null, null, null, null, null from n`,
    )
      .bind(organization, keyId, Date.now())
      .run();
    const second = await makeKey(organization);
    // A read of a range examines the row after it: both organizations have one.
    for (const organizationId of [other.organization, organization]) {
      await copyKey(organizationId, (await makeKey(organizationId)).id, { prefix: 'z-', count: 1 });
      const request = refusedRequest(`after ${organizationId}`);
      await recordRefusal(asOperator(), { organizationId, keyId: 'z-000' }, { request });
    }
    const { db, calls } = countD1(env.DB);
    for (const [organizationId, key] of [
      [other.organization, other.keyId] as const,
      [organization, second.id] as const,
    ])
      await recordRefusal(asOperator(db), { organizationId, keyId: key }, { request: refusedRequest('99999') });
    expect(calls[1]?.rowsRead).toBe(calls[0]?.rowsRead);
    expect(await rowsOf('refused_requests', organization)).toHaveLength(5_003);
    expect(await forgetOldRefusedRequests(asOperator(), { rows: 2, chunks: 2 })).toBe(false);
    expect(await forgetOldRefusedRequests(asOperator(), { rows: 2, chunks: 2 })).toBe(true);
    const rows = await rowsOf('refused_requests', organization);
    expect(rows).toHaveLength(5_000);
    expect(rows.some(({ request_id }) => request_id === '00003')).toBe(false);
    expect(await rowsOf('refused_requests', other.organization)).toHaveLength(2);
  });

  test('has a request once, even if its row is written again after a lost response', async () => {
    const { organization, keyId } = await makeWorld();
    for (let attempt = 0; attempt < 2; attempt++)
      await recordRefusal(asOperator(), { organizationId: organization, keyId }, { request: refusedRequest('again') });
    expect(await rowsOf('refused_requests', organization)).toHaveLength(1);
  });
});

test('no request of a key that does not exist is recorded', async () => {
  const organizationId = await makeOrganization();
  await recordRefusal(asOperator(), { organizationId, keyId: 'none' }, { request: refusedRequest('orphan') });
  expect(await rowsOf('refused_requests', organizationId)).toEqual([]);
});
