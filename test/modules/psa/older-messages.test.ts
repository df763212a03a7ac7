import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { aroundD1, committingTwice } from '../../support/d1.ts';
import { eraseOrganization } from '../../support/erase-organization.ts';
import { directory, lastCursor, resultOf } from '../../support/psa-calls.ts';
import { asOperator, importRecords, makeApi, makeWorld, problemOf, TIME } from '../../support/world.ts';
import { makePsa } from './support.ts';

// The clock stands still except where a test moves it: messages of one second have the same time. It is
// ahead of the database's, which gives unsigned changes their time: messages of the start and later are
// newer than these, and those of `BEFORE` are older.
const AHEAD_SECONDS = 100;
const BEFORE = -2 * AHEAD_SECONDS;
let START = 0;
beforeEach(() => {
  START = (Math.floor(Date.now() / 1000) + AHEAD_SECONDS) * 1000;
  vi.useFakeTimers({ toFake: ['Date'], now: START });
});
afterEach(() => {
  vi.useRealTimers();
});

const SECOND = 1_000;
type Outcome = string | number;

/** An organization and messages about its technician tess, to send now or again. */
async function makeTechnician(bindings: Partial<Env> = {}) {
  const { organization, key } = await makeWorld();
  const { call } = makePsa({ bindings });
  const tess = {
    type: 'user',
    organization,
    id: 'tess',
    email: 'tess@northwind.example',
    name: 'Tess',
    technician: true,
  };
  const message =
    (type: string, data: object, at: number, id = crypto.randomUUID()) =>
    async (): Promise<Outcome> => {
      const [status, answered] = await call(type, data, { at, id });
      return answered.ok ? status : `${status} ${answered.error.code}`;
    };
  return {
    organization,
    /** Messages of that many seconds after the start. */
    activate: (seconds: number) =>
      message('directory.upsert', { organization, records: [tess] }, START + seconds * SECOND),
    deactivate: (seconds: number) =>
      message(
        'directory.deactivate',
        { organization, records: [{ type: 'user', id: 'tess' }] },
        START + seconds * SECOND,
      ),
    isActive: async () => {
      const entry = await makeApi().postTime(key, { ...TIME, userEmail: tess.email });
      return entry.status === 201 || (await problemOf(entry)) !== '422 technician_not_eligible';
    },
    tess,
  };
}

const THEN_OLD = [200, 200, '409 superseded'];

test.each<[string, messages: string[], outcomes: Outcome[], isActive: boolean]>([
  ['an activation that is sent again does not undo a later deactivation', ['+1', '-2', '+1'], THEN_OLD, false],
  ['a deactivation that is sent again does not undo a later activation', ['-1', '+2', '-1'], THEN_OLD, true],
  ['a delayed message is refused after a newer one that changed nothing', ['+2', '-1'], [200, '409 superseded'], true],
  [
    'within one second, messages are applied in the order of their arrival, each once before the next',
    ['+1', '+1', '-1', '+1', '-1', '+1 again', '-1'],
    [200, ...THEN_OLD, ...THEN_OLD],
    true,
  ],
])('%s', async (_, messages, outcomes, isActive) => {
  const technician = await makeTechnician();
  const made = new Map<string, () => Promise<Outcome>>();
  const found: Outcome[] = [];
  for (const message of messages) {
    const make = message.startsWith('+') ? technician.activate : technician.deactivate;
    // The same message is sent again under its id.
    const send = made.get(message) ?? make(Number.parseInt(message.slice(1), 10));
    made.set(message, send);
    found.push(await send());
  }
  expect([found, await technician.isActive()]).toEqual([outcomes, isActive]);
});

test("a refusal contains the newer message's time, the service's time, and when to try again", async () => {
  const { organization, deactivate } = await makeTechnician();
  expect(await deactivate(290)()).toBe(200);
  const { post } = makePsa();
  const data = { organization, records: [{ type: 'user', id: 'tess' }] };
  const response = await post({ type: 'directory.deactivate', data }, { at: START });
  expect(response.headers.get('Retry-After')).toBe('290');
  expect(await response.json()).toMatchObject({
    error: {
      code: 'superseded',
      newestAt: new Date(START + 290 * SECOND).toISOString(),
      serverTime: new Date(START).toISOString(),
      retryAfter: 290,
    },
  });
  vi.setSystemTime(START + 290 * SECOND);
  expect((await post({ type: 'directory.deactivate', data })).status).toBe(200);
});

test('an invalid message does not cause a refusal of older ones', async () => {
  const { organization, deactivate } = await makeTechnician();
  const { call } = makePsa();
  const records = [{ type: 'ticket', organization, id: '1', company: 'unheard-of' }];
  const [, answered] = await call('directory.upsert', { organization, records }, { at: START + 9 * SECOND });
  expect(answered).toMatchObject({ value: { written: false } });
  expect(await deactivate(1)()).toBe(200);
});

test('a change without a message, as by a command, is not undone by an older message, and is never refused', async () => {
  const { organization, activate, isActive } = await makeTechnician();
  const captured = activate(1);
  expect(await captured()).toBe(200);
  // Within the same second, and while the sender's clock is ahead of ours.
  vi.setSystemTime(START + 500);
  resultOf(await directory.deactivate(organization, [{ type: 'user', id: 'tess' }]));
  expect(await captured()).toBe('409 superseded');
  expect(await isActive()).toBe(false);

  const other = await makeTechnician();
  await importRecords({ ...other.tess, active: false });
  expect(await other.activate(BEFORE)()).toBe('409 superseded');
  expect(await other.isActive()).toBe(false);
  expect(await other.deactivate(1)()).toBe(200);
});

test('an import from a machine whose clock is ahead refuses no message of the PSA', async () => {
  const { deactivate, isActive, tess } = await makeTechnician();
  vi.setSystemTime(START + 250 * SECOND);
  await importRecords({ ...tess, name: 'Tess T.' });
  vi.setSystemTime(START);
  expect(await deactivate(1)()).toBe(200);
  expect(await isActive()).toBe(false);
});

test('a message from before an erasure does not restore the organization', async () => {
  const { organization } = await makeTechnician();
  const { call } = makePsa();
  const records = [
    { type: 'organization', id: organization, name: 'Northwind', psa: true, timeZone: 'UTC', defaultHourlyRate: 120 },
  ];
  // The clock of the machine that erases is ahead, and so its time must not count.
  vi.setSystemTime(START + 250 * SECOND);
  await eraseOrganization(asOperator(), { organization, cursor: await lastCursor(organization), by: 'Ada' });
  const upsert = (seconds: number) =>
    call('directory.upsert', { organization, records, recreate: true }, { at: START + seconds * SECOND });
  vi.setSystemTime(START);
  expect(await upsert(BEFORE)).toMatchObject([409, { error: { code: 'superseded' } }]);
  expect(await upsert(1)).toMatchObject([200, { value: { written: true } }]);
});

test('a message whose response was lost has been applied once, and its retry succeeds', async () => {
  const { deactivate, isActive } = await makeTechnician({ DB: committingTwice(env.DB) });
  expect(await deactivate(1)()).toBe(200);
  expect(await isActive()).toBe(false);
});

test('an older message that is applied while a newer one is being compared is overwritten by it', async () => {
  const { deactivate, tess, organization } = await makeTechnician();
  const older = deactivate(1);
  let calls = 0;
  const DB = aroundD1(env.DB, async (run) => {
    // Between reading the differences and writing them.
    if (++calls === 3) expect(await older()).toBe(200);
    return run();
  });
  const { call } = makePsa({ bindings: { DB } });
  const answered = await call('directory.upsert', { organization, records: [tess] }, { at: START + 2 * SECOND });
  expect(answered).toMatchObject([200, { ok: true }]);
  expect(calls).toBe(3);
  const user = env.DB.prepare("select active from users where organization_id = ? and id = 'tess'").bind(organization);
  expect(await user.first('active')).toBe(1);
});

test('a call without a message that changes nothing also causes refusals of older messages', async () => {
  const { organization, deactivate, tess, isActive } = await makeTechnician();
  resultOf(await directory.upsert(organization, [{ ...tess, type: 'user' }]));
  resultOf(await directory.upsert(organization, [{ ...tess, type: 'user' }]));
  expect(await deactivate(BEFORE)()).toBe('409 superseded');
  expect(await isActive()).toBe(true);
});

test('an upsert without records does nothing, even for an organization that does not exist', async () => {
  const answered = await makePsa().call('directory.upsert', { organization: 'unheard-of', records: [] });
  expect(answered).toEqual([200, { ok: true, value: { written: true, records: [] } }]);
});

test('a refused message writes none of its records', async () => {
  const { organization, deactivate } = await makeTechnician();
  const other = await makeTechnician();
  const { call } = makePsa();
  expect(await deactivate(5)()).toBe(200);
  // Another organization has a clock of its own.
  expect(await other.deactivate(1)()).toBe(200);
  const records = [
    { type: 'company', organization, id: 'hooli', name: 'Hooli' },
    { type: 'ticket', organization, id: '3001', company: 'hooli' },
  ];
  expect(await call('directory.upsert', { organization, records }, { at: START })).toMatchObject([409, { ok: false }]);
  const found = await env.DB.prepare('select count(*) as n from tickets where organization_id = ? and id = ?')
    .bind(organization, '3001')
    .first('n');
  expect(found).toBe(0);
});
