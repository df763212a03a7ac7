import { describe, expect, test } from 'vitest';
import { DIRECTORY_TYPES } from '../../../src/domain/directory.ts';
import type { ChangesPage, ListedRecords } from '../../../src/domain/psa-shapes.ts';
import { callText } from '../../../src/modules/psa/docs/call-texts.ts';
import { PSA_CALL_TYPES, PSA_CALLS } from '../../../src/modules/psa/psa-calls.ts';
import type { CallResult } from '../../../src/services/call-result.ts';
import { allChanges, directory, resultOf } from '../../support/psa-calls.ts';
import { importRecords, makeOrganization, makeWorld, rowsOf } from '../../support/world.ts';
import { makePsa } from './support.ts';

/** An organization with a note and a time entry, and a PSA that sends messages. */
async function makePsaWorld() {
  const world = await makeWorld({ approvals: 'psa' });
  await world.api.postNote(world.key);
  const { entry } = await (await world.api.postTime(world.key)).json<{ entry: { id: string } }>();
  return { ...world, entry: entry.id, ...makePsa() };
}

describe('a call gives the result of its service:', () => {
  test('directory.list returns, page by page, the records that directory.upsert accepts', async () => {
    const { organization, call } = await makePsaWorld();
    const tickets = Array.from({ length: 5 }, (_, n) => ({
      type: 'ticket',
      organization,
      id: `t${n}`,
      company: 'acme',
    }));
    const agreement = {
      type: 'agreement',
      organization,
      id: 'rate',
      company: 'acme',
      hourlyRate: 119.99,
      active: false,
    };
    const sent = [...tickets, agreement];
    expect(await call('directory.upsert', { organization, records: sent })).toMatchObject([
      200,
      { value: { written: true } },
    ]);
    await call('directory.deactivate', { organization, records: [{ type: 'ticket', id: 't3' }] });
    const all: unknown[] = [];
    for (const type of DIRECTORY_TYPES) {
      let cursor: string | null = null;
      for (let more = true; more; ) {
        const answered: CallResult<ListedRecords> = (
          await call<ListedRecords>('directory.list', { organization, type, cursor, limit: 2 })
        )[1];
        expect(answered).toEqual(await directory.list(organization, type, cursor, 2));
        const page: ListedRecords = resultOf(answered);
        all.push(...page.records);
        ({ cursor, more } = page);
      }
    }
    expect(all).toEqual(
      expect.arrayContaining([
        ...tickets.map((ticket) => ({ ...ticket, active: ticket.id !== 't3' })),
        agreement,
        expect.objectContaining({ type: 'organization', id: organization, psa: true, active: true }),
      ]),
    );
    const [, again] = await call('directory.upsert', { organization, records: all });
    expect(again).toMatchObject({ value: { records: all.map(() => ({ status: 'unchanged' })) } });
    const other = await makeOrganization();
    expect(resultOf(await directory.list(other, 'ticket', null)).records).not.toContainEqual(
      expect.objectContaining({ organization }),
    );
    expect((await call('directory.list', { organization: 'unheard-of', type: 'user' }))[0]).toBe(404);
  });

  test('work.redact leaves an audit row with the address and User-Agent of the message', async () => {
    const { organization, entry, call } = await makePsaWorld();
    const data = { organization, kind: 'time_entry', id: entry, by: 'Ada, ticket 77' };
    const headers = { 'User-Agent': 'psa/1.0', 'CF-Connecting-IP': '192.0.2.77' };
    expect(await call('work.redact', data, { headers })).toEqual([200, { ok: true, value: { status: 'redacted' } }]);
    expect(await call('work.redact', data)).toEqual([200, { ok: true, value: { status: 'unchanged' } }]);
    const rows = await rowsOf('audit_log', organization);
    expect(rows.at(-1)).toMatchObject({
      action: 'time_entry.redacted',
      actor_type: 'system',
      actor_id: 'psa',
      actor_name: 'Ada, ticket 77',
      source_address: '192.0.2.77',
      user_agent: 'psa/1.0',
    });
  });
});

describe('an error of a call', () => {
  test.each([
    [{ type: 'work.erase', data: {} }, ['/type invalid_value']],
    [{ data: {} }, ['/type required']],
    [{ type: 'work.changes' }, ['/data required']],
    [{ type: 'work.changes', data: [] }, ['/data invalid_type']],
    [
      { type: 'work.changes', data: { organization: 'a b', cursor: 7, limit: 101 } },
      ['/data/organization invalid_format', '/data/cursor invalid_type', '/data/limit out_of_range'],
    ],
    [
      { type: 'work.changes', data: { organization: 7, cursor: 'not a cursor', limit: '5' } },
      ['/data/organization invalid_type', '/data/cursor invalid_format', '/data/limit invalid_type'],
    ],
    [{ type: 'work.changes', data: { organization: 'a', cursor: null, limit: 0 } }, ['/data/limit out_of_range']],
    [
      { type: 'work.redact', data: { organization: 'a', kind: 'ticket', id: 'x', by: '' } },
      ['/data/kind invalid_value', '/data/id invalid_format', '/data/by too_short'],
    ],
    [
      { type: 'work.review', data: { organization: 'a', entry: 'x', decision: 'approved', reviewer: 'ada', note: 1 } },
      ['/data/entry invalid_format', '/data/decision invalid_value', '/data/note unknown_field'],
    ],
    [{ type: 'directory.upsert', data: { organization: 'a', records: {} } }, ['/data/records invalid_type']],
    [{ type: 'directory.upsert', data: { organization: 7, records: [] } }, ['/data/organization invalid_type']],
    [{ type: 'work.changes', data: { organization: 'a', cursor: null }, extra: 1 }, ['/extra unknown_field']],
    [[], [' invalid_type']],
  ])('the error lists the fields of %j', async (message, errors) => {
    const response = await makePsa().post(message);
    expect(response.status).toBe(422);
    const answered = await response.json<{ error: { code: string; errors: { pointer: string; code: string }[] } }>();
    expect(answered.error.code).toBe('invalid');
    expect(answered.error.errors.map(({ pointer, code }) => `${pointer} ${code}`)).toEqual(errors);
  });

  test("the response has the error code's status", async () => {
    const { call } = makePsa();
    const organization = await makeOrganization();
    const { entry, ...other } = await makePsaWorld();
    const settings = await makeWorld();
    await settings.api.postTime(settings.key);
    const ofSettings = (await allChanges(settings.organization)).at(-1)?.targetId;
    const missing = { organization, entry, decision: 'APPROVED', reviewer: 'ada' };
    const cursor = (await allChanges(other.organization)).at(-1)?.cursor;
    const failures = [
      await call('work.changes', { organization: 'unheard-of', cursor: null }),
      await call('work.review', missing),
      await call('work.review', { ...missing, organization: settings.organization, entry: ofSettings }),
      await call('work.changes', { organization, cursor }),
    ];
    expect(failures.map(([status, answered]) => [status, answered.ok || answered.error.code])).toEqual([
      [404, 'organization_not_found'],
      [404, 'record_not_found'],
      [409, 'approved_in_settings'],
      [409, 'cursor_reset'],
    ]);
  });
});

test('a page of changes over HTTP is at most 512 KiB, and its cursor leads to the rest', async () => {
  const { organization, key, api } = await makeWorld();
  const message = '🖨️'.repeat(16_000);
  for (let note = 0; note < 8; note++) expect((await api.postNote(key, { message })).status).toBe(201);
  const { call } = makePsa();
  const seqs: number[] = [];
  let cursor: string | null = null;
  let pages = 0;
  for (let more = true; more; pages++) {
    const page: ChangesPage = resultOf((await call<ChangesPage>('work.changes', { organization, cursor }))[1]);
    expect(new TextEncoder().encode(JSON.stringify(page.changes)).length).toBeLessThanOrEqual(512 * 1024);
    seqs.push(...page.changes.map(({ seq }) => seq));
    ({ cursor, more } = page);
  }
  expect(seqs).toEqual(Array.from({ length: 9 }, (_, index) => index + 1));
  expect(pages).toBeGreaterThan(1);
});

test.each(PSA_CALL_TYPES)('the example of %s is a valid request', async (type) => {
  const { request } = PSA_CALLS[type];
  expect(request.safeParse(callText(type).data).error).toBeUndefined();
});

test('the example of directory.upsert returns the example result', async () => {
  const { data, value } = callText('directory.upsert');
  await importRecords(
    { type: 'organization', id: 'northwind', name: 'Northwind', psa: true, timeZone: 'UTC', defaultHourlyRate: 120 },
    { type: 'company', organization: 'northwind', id: 'acme', name: 'Acme' },
    { type: 'ticket', organization: 'northwind', id: '1001', company: 'acme' },
  );
  expect(await makePsa().call('directory.upsert', data)).toEqual([200, { ok: true, value }]);
});
