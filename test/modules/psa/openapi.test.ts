import { env } from 'cloudflare:workers';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { DIRECTORY_TYPES } from '../../../src/domain/directory.ts';
import { aroundD1 } from '../../support/d1.ts';
import { psaContract, readStatic } from '../../support/static-files.ts';
import { makeWorld } from '../../support/world.ts';
import { PUSH } from '../push/support.ts';
import { type MessageOptions, makePsa } from './support.ts';

const psa = makePsa();
const contract = await psaContract();
const CALL = 'POST /psa';
const failing = (message: string) => ({ DB: aroundD1(env.DB, () => Promise.reject(new Error(message))) });

/** Expects a response with this status, as documented. */
async function agrees(status: number, answer: Response | Promise<Response>): Promise<Response> {
  const response = await answer;
  expect(await contract.undocumented(CALL, response)).toEqual([]);
  expect(response.status).toBe(status);
  return response;
}

let organization: string;
let entry: string;
const post = (type: string, data: unknown, how?: MessageOptions) => psa.post({ type, data }, how);

beforeAll(async () => {
  const world = await makeWorld({ approvals: 'psa' });
  organization = world.organization;
  await world.api.postNote(world.key);
  const created = await world.api.postTime(world.key);
  entry = (await created.json<{ entry: { id: string } }>()).entry.id;
});
afterAll(() => {
  vi.restoreAllMocks();
});

test('the addresses in the document are relative to the document', async () => {
  const response = await readStatic('/psa/openapi.json');
  expect(response.headers.get('Content-Type')).toBe('application/json');
  expect(await response.json()).toMatchObject({ openapi: '3.1.0', servers: [{ url: '/' }] });
});

test('every call returns a documented response', async () => {
  const ticket = { type: 'ticket', organization, id: '4001', company: 'acme' };
  await agrees(200, post('directory.upsert', { organization, records: [ticket] }));
  await agrees(200, post('directory.upsert', { organization, records: [ticket, { ...ticket, company: 7 }] }));
  await agrees(200, post('directory.deactivate', { organization, records: [{ type: 'ticket', id: '4001' }] }));
  for (const type of DIRECTORY_TYPES) await agrees(200, post('directory.list', { organization, type }));
  await agrees(200, post('work.changes', { organization, cursor: null }));
  const pushing = makePsa({ config: { receiver: PUSH } });
  await agrees(200, pushing.post({ type: 'push.resume', data: { organization, by: 'Ada' } }));
  await agrees(409, post('push.resume', { organization, by: 'Ada' }));
  const review = { organization, entry, decision: 'APPROVED', reviewer: 'ada' };
  await agrees(200, post('work.review', review));
  await agrees(200, post('work.review', review));
  await agrees(409, post('work.review', { ...review, decision: 'REJECTED' }));
  const report = { organization, kind: 'time_entry', id: entry, result: 'refused', reason: 'The ticket is closed.' };
  await agrees(200, post('work.report', report));
  await agrees(200, post('work.status', { organization }));
  await agrees(200, post('work.redact', { organization, kind: 'time_entry', id: entry, by: 'Ada' }));
  await agrees(200, post('work.changes', { organization, cursor: null }));
});

test('every failure returns a documented response', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const changes = { type: 'work.changes', data: { organization, cursor: null } };
  await agrees(400, psa.post('{'));
  await agrees(401, post('work.changes', {}, { at: 0 }));
  await agrees(403, makePsa({ origin: 'http://api.example' }).post(changes));
  await agrees(404, post('work.changes', { organization: 'unheard-of', cursor: null }));
  const records = [{ type: 'ticket', id: '1001' }];
  await agrees(200, post('directory.deactivate', { organization, records }, { at: Date.now() + 200_000 }));
  await agrees(409, post('directory.deactivate', { organization, records }));
  await agrees(413, psa.post(' '.repeat(1024 * 1024 + 1)));
  await agrees(415, psa.post(changes, { headers: { 'Content-Type': 'text/plain' } }));
  await agrees(422, post('work.changes', { organization }));
  const limited = makePsa({ config: { ipLimit: { quota: 1, windowMs: 10_000 } } });
  await agrees(200, limited.post(changes));
  await agrees(429, limited.post(changes));
  await agrees(500, makePsa({ bindings: failing('UNIQUE constraint failed') }).post(changes));
  const unavailable = await agrees(503, makePsa({ bindings: failing('D1 DB is overloaded.') }).post(changes));
  expect(unavailable.headers.get('Retry-After')).toMatch(/^[4-8]$/);
});

test('the tests above received every documented response', () => {
  expect(contract.unseen()).toEqual([]);
});

test('the document allows the messages that the service accepts, and no others', () => {
  const changes = { type: 'work.changes', data: { organization: 'northwind', cursor: null } };
  const allowed = [changes, { ...changes, timestamp: '2026-11-22T00:00:00Z' }];
  expect(allowed.map((message) => contract.allows(CALL, message))).toEqual([true, true]);
  const refused = [{ ...changes, extra: 1 }, { ...changes, type: 'work.erase' }, { type: 'work.changes' }];
  expect(refused.map((message) => contract.allows(CALL, message))).toEqual([false, false, false]);
});
