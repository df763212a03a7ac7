import { describe, expect, test } from 'vitest';
import type { DirectoryRecordInput } from '../../../src/domain/directory.ts';
import { directory, failureOf, resultOf, untyped } from '../../support/psa-calls.ts';
import { makeOrganization, makeWorld, TIME } from '../../support/world.ts';

const USER = { type: 'user', name: 'Someone' } as const;

describe('upsert', () => {
  test('creates, changes or keeps each record, and reports the outcome', async () => {
    const organization = `rpc-${crypto.randomUUID().slice(0, 8)}`;
    const records: DirectoryRecordInput[] = [
      { type: 'organization', id: organization, name: 'Rpc', psa: true, timeZone: 'UTC', defaultHourlyRate: 80 },
      { type: 'company', organization, id: 'acme', name: 'Acme' },
      { type: 'ticket', organization, id: '1', company: 'acme' },
    ];
    const upsert = async () => resultOf(await directory.upsert(organization, records)).records.map((one) => one.status);
    expect(await upsert()).toEqual(['created', 'created', 'created']);
    records[1] = { type: 'company', organization, id: 'acme', name: 'Acme Ltd' };
    expect(await upsert()).toEqual(['unchanged', 'changed', 'unchanged']);
  });

  const partlyWrong = (organization: string): DirectoryRecordInput[] => [
    { type: 'company', organization, id: 'fine', name: 'Fine' },
    untyped({ type: 'ticket', organization, id: '7', company: 'acme', active: 'no' }),
    { type: 'ticket', organization, id: '8', company: 'unheard-of' },
    { type: 'ticket', organization: 'another', id: '9', company: 'acme' },
    { type: 'ticket', organization, id: '8', company: 'acme' },
    untyped(null),
  ];

  test('writes the valid records, and reports the errors of the others', async () => {
    const organization = await makeOrganization();
    const { written, records } = resultOf(await directory.upsert(organization, partlyWrong(organization)));
    expect(written).toBe(false);
    expect(records.map(({ status }) => status)).toEqual(['created', ...Array(5).fill('refused')]);
    expect(resultOf(await directory.upsert(organization, partlyWrong(organization))).records[0]).toEqual({
      status: 'unchanged',
    });
  });

  test('refuses the records that need a refused record, and no others', async () => {
    const organization = await makeOrganization();
    const user = (id: string, email: string, more: object = {}) => ({ ...USER, organization, id, email, ...more });
    const agreement = { type: 'agreement' as const, organization, company: 'hooli', hourlyRate: 90 };
    const [old, next] = [
      { ...agreement, id: 'old' },
      { ...agreement, id: 'next', hourlyRate: 95 },
    ];
    const hooli = { type: 'company' as const, organization, id: 'hooli', name: 'Hooli' };
    const before = [hooli, user('one', '1@x.example'), user('two', '2@x.example'), user('three', '3@x.example'), old];
    expect(resultOf(await directory.upsert(organization, before)).written).toBe(true);
    const { records } = resultOf(
      await directory.upsert(organization, [
        untyped({ type: 'company', organization, id: 'broken', name: 7 }),
        { type: 'ticket', organization, id: '1', company: 'broken' },
        untyped({ type: 'company', organization, id: 'acme', name: 7 }),
        { type: 'ticket', organization, id: '2', company: 'acme' },
        // Each takes the next user's address, and the last one keeps its own.
        user('one', '2@x.example'),
        user('two', '3@x.example'),
        untyped(user('three', '4@x.example', { admin: 'yes' })),
        user('four', '4@x.example'),
        untyped({ ...old, active: 'no' }),
        next,
      ]),
    );
    expect(records).toMatchObject([
      { status: 'refused' },
      { status: 'refused', errors: [{ pointer: '/company', code: 'unknown_reference' }] },
      { status: 'refused' },
      { status: 'created' },
      { status: 'refused', errors: [{ pointer: '/email', code: 'conflict' }] },
      { status: 'refused', errors: [{ pointer: '/email', code: 'conflict' }] },
      { status: 'refused', errors: [{ pointer: '/admin' }] },
      { status: 'created' },
      { status: 'refused', errors: [{ pointer: '/active', code: 'invalid_type' }] },
      { status: 'refused', errors: [{ pointer: '/active', code: 'conflict' }] },
    ]);
  });

  test('refuses all records of an organization that is refused and not in the directory', async () => {
    const organization = `rpc-${crypto.randomUUID().slice(0, 8)}`;
    const { written, records } = resultOf(
      await directory.upsert(organization, [
        untyped({ type: 'organization', id: organization, name: 'Rpc', psa: true, timeZone: 'Mars/Base' }),
        { type: 'company', organization, id: 'acme', name: 'Acme' },
      ]),
    );
    expect(written).toBe(false);
    expect(records).toMatchObject([{ status: 'refused' }, { errors: [{ code: 'unknown_reference' }] }]);
  });

  test('writes all records or none with allOrNothing, and reports the errors of each record', async () => {
    const organization = await makeOrganization();
    const { written, records } = resultOf(await directory.upsert(organization, partlyWrong(organization), true));
    expect(written).toBe(false);
    expect(records).toMatchObject([
      { status: 'not_written' },
      { status: 'refused', errors: [{ pointer: '/active', code: 'invalid_type' }] },
      { status: 'refused', errors: [{ pointer: '/company', code: 'unknown_reference' }] },
      { status: 'refused', errors: [{ pointer: '/organization', code: 'other_organization' }] },
      // The detail shows the other record.
      {
        status: 'refused',
        errors: [{ pointer: '/id', code: 'conflict', detail: expect.stringContaining('records[2]') }],
      },
      { status: 'refused', errors: [{ pointer: '/type' }] },
    ]);
    expect(resultOf(await directory.deactivate(organization, [{ type: 'company', id: 'fine' }])).records).toEqual([
      { status: 'not_found' },
    ]);
  });

  test('takes at most 1,000 records', async () => {
    const organization = await makeOrganization();
    const ticket = { type: 'ticket' as const, organization, id: '1', company: 'acme' };
    expect(failureOf(await directory.upsert(organization, Array(1001).fill(ticket)))).toEqual([
      'invalid',
      '/records out_of_range',
    ]);
  });

  test('asks for a string where an id is a number', async () => {
    const organization = await makeOrganization();
    const ticket = { type: 'ticket', organization, id: 1001, company: 2 ** 60 };
    const { records } = resultOf(await directory.upsert(organization, [untyped(ticket)]));
    expect(records).toMatchObject([
      {
        errors: [
          { pointer: '/id', code: 'invalid_type', detail: 'id was 1001; send a string: "1001"' },
          // Its last digits may be wrong.
          { pointer: '/company', detail: 'company was 1152921504606847000; send a string' },
        ],
      },
    ]);
  });
});

describe('deactivate', () => {
  test('reports the outcome for each record, and keeps the service account', async () => {
    const organization = await makeOrganization();
    const { records } = resultOf(
      await directory.deactivate(organization, [
        { type: 'user', id: 'tess' },
        { type: 'user', id: 'ivan' },
        { type: 'user', id: 'automation' },
        { type: 'ticket', id: '1001' },
        { type: 'ticket', id: 'unheard-of' },
        { type: 'organization', id: 'another' },
      ]),
    );
    expect(records.map(({ status }) => status)).toEqual([
      'deactivated',
      'unchanged',
      'service_account',
      'deactivated',
      'not_found',
      'not_found',
    ]);
  });

  test('refuses an unknown type and an empty id', async () => {
    const organization = await makeOrganization();
    const failure = failureOf(await directory.deactivate(organization, untyped([{ type: 'invoice', id: '' }])));
    expect(failure).toMatchObject([
      'invalid',
      expect.stringMatching(/^\/records\/0\/type /),
      expect.stringMatching(/^\/records\/0\/id /),
    ]);
  });
});

describe('a change of the directory takes effect at the next request:', () => {
  async function makeDirectory() {
    const world = await makeWorld();
    const { organization, key, api } = world;
    const upsert = async (...records: DirectoryRecordInput[]) =>
      resultOf(await directory.upsert(organization, records));
    /** Changes the organization. */
    const setPsa = (psa: boolean) =>
      upsert({ type: 'organization', id: organization, name: 'N', psa, timeZone: 'UTC', defaultHourlyRate: 120 });
    /** Writes a time entry. */
    const writeTime = async (body: object = TIME) => {
      const response = await api.postTime(key, body);
      return response.json<{ entry: { hourlyRate: number; userId: string }; agreementSource: string }>();
    };
    return { ...world, upsert, setPsa, writeTime };
  }

  test('an inactive organization gets 401 for all its keys, and can write again when it is active', async () => {
    const { organization, key, api, setPsa } = await makeDirectory();
    await directory.deactivate(organization, [{ type: 'organization', id: organization }]);
    expect((await api.postNote(key)).status).toBe(401);
    expect((await api.send('/api/v1/ping', { key })).status).toBe(401);
    await setPsa(true);
    expect((await api.postNote(key)).status).toBe(201);
  });

  test('an agreement sets the rate until it ends, then the default rate applies', async () => {
    const { organization, upsert, writeTime } = await makeDirectory();
    expect(await writeTime()).toMatchObject({ entry: { hourlyRate: 150 }, agreementSource: 'company_default' });
    await upsert({ type: 'agreement', organization, id: 'acme-support', company: 'acme', hourlyRate: 175.5 });
    expect(await writeTime()).toMatchObject({ entry: { hourlyRate: 175.5 } });
    await directory.deactivate(organization, [{ type: 'agreement', id: 'acme-support' }]);
    expect(await writeTime()).toMatchObject({ entry: { hourlyRate: 120 }, agreementSource: 'organization_default' });
  });

  test("a ticket that moves to another company gets that company's rate", async () => {
    const { organization, upsert, writeTime } = await makeDirectory();
    await upsert({ type: 'ticket', organization, id: '1001', company: 'globex' });
    expect(await writeTime()).toMatchObject({ entry: { hourlyRate: 120 }, agreementSource: 'organization_default' });
  });

  test('time is credited to the service account, renamed or replaced', async () => {
    const { organization, upsert, writeTime } = await makeDirectory();
    const account = { type: 'user', organization, service: true } as const;
    await upsert({ ...account, id: 'automation', email: 'bot@northwind.example', name: 'Bot' });
    expect(await writeTime()).toMatchObject({ entry: { userId: 'automation' } });
    await upsert({ ...account, id: 'robot', email: 'robot@northwind.example', name: 'Robot' });
    expect(await writeTime()).toMatchObject({ entry: { userId: 'robot' } });
  });
});
