import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { importDirectory, MAX_LINE_BYTES, MAX_ORGANIZATION_RECORDS } from '../../../src/ops/import/import-directory.ts';
import { aroundD1, countD1 } from '../../support/d1.ts';
import { importRecords, makeOrganization } from '../../support/world.ts';

const text = (...records: Record<string, unknown>[]) => records.map((record) => JSON.stringify(record)).join('\n');
const organizationRecord = (id: string) => ({
  type: 'organization',
  id,
  name: 'Tailspin',
  psa: true,
  timeZone: 'UTC',
  defaultHourlyRate: 80,
});
/** The id of an organization that does not exist yet. */
const newId = () => `fresh-${crypto.randomUUID().slice(0, 13)}`;

async function table(name: string, organization: string): Promise<Record<string, unknown>[]> {
  const { results } = await env.DB.prepare(`select * from ${name} where organization_id = ? order by id`)
    .bind(organization)
    .all();
  return results;
}

/** Imports a text with errors, and returns them as `line subject pointer code`. */
async function errorsOf(source: string | AsyncIterable<Uint8Array>): Promise<string[]> {
  const { db, calls } = countD1(env.DB);
  const result = await importDirectory(db, source);
  if (result.ok) throw new Error('The import had no errors');
  expect(calls.reduce((total, { rowsWritten }) => total + rowsWritten, 0)).toBe(0);
  return result.errors.map(({ at, subject, pointer, code }) => `${at} ${subject} ${pointer} ${code}`);
}

test('all errors of a file are reported by line, field and rule, and nothing is written', async () => {
  const other = await makeOrganization();
  const organization = newId();
  const lines = [
    JSON.stringify(organizationRecord(organization)),
    '{"type":"company","organization":',
    JSON.stringify({ type: 'company', organization, id: 'one', name: 'x'.repeat(10_000_000) }),
    JSON.stringify({ type: 'company', organization, id: 'acme', name: 'Acme' }),
    JSON.stringify({ type: 'company', organization, id: 'acme', name: 'Acme, but otherwise' }),
    JSON.stringify({ type: 'ticket', organization, id: '1', company: 'globex' }),
    JSON.stringify({ ...organizationRecord(newId()), timeZone: 'Mars/Olympus' }),
    JSON.stringify({ type: 'agreement', organization, id: 'a', company: 'acme', hourlyRate: -1 }),
    JSON.stringify({ type: 'agreement', organization, id: 'b', company: 'acme', hourlyRate: 1 }),
    JSON.stringify({ type: 'agreement', organization, id: 'c', company: 'acme', hourlyRate: 2 }),
    JSON.stringify({ type: 'user', organization, id: 'u', email: 'not an address', name: 'U', admin: 'yes' }),
    JSON.stringify({ type: 'user', organization, id: 'v', email: 'v@service.invalid', name: 'V' }),
    JSON.stringify({ type: 'user', organization, id: 'service-account', email: 's@a.example', name: 'S' }),
    JSON.stringify({ type: 'ticket', organization: 'nowhere', id: '1', company: 'acme' }),
    JSON.stringify({ type: 'ticket', organization: other, id: '1', company: 'tailspin', colour: 'red' }),
    '',
    '[]',
    JSON.stringify({ type: 'invoice', id: '1' }),
  ];
  expect(await errorsOf(lines.join('\n'))).toEqual([
    '2 record  malformed_json',
    '3 record  too_long',
    '5 company acme /id conflict',
    '6 ticket 1 /company unknown_reference',
    expect.stringMatching(/^7 organization fresh-\S+ \/timeZone invalid_value$/),
    '8 agreement a /hourlyRate out_of_range',
    '10 agreement c /active conflict',
    '11 user u /email invalid_format',
    '11 user u /admin invalid_type',
    '12 user v /email invalid_value',
    '13 user service-account /id invalid_value',
    '14 ticket 1 /organization unknown_reference',
    '15 ticket 1 /colour unknown_field',
    '17 record /type invalid_value',
    '18 record /type invalid_value',
  ]);
  const { results } = await env.DB.prepare('select id from organizations where id = ?').bind(organization).all();
  expect(results).toEqual([]);
});

test('a record cannot refer to a company of another organization', async () => {
  const [organization, other] = [await makeOrganization(), newId()];
  const company = { type: 'company', organization: other, id: 'only-there', name: 'There' };
  expect(
    await errorsOf(
      text(organizationRecord(other), company, { type: 'ticket', organization, id: '9', company: 'only-there' }),
    ),
  ).toEqual(['3 ticket 9 /company unknown_reference']);
});

test('an invalid record is reported once, and records that refer to it are not', async () => {
  const organization = newId();
  const tickets = ['1', '2'].map((id) => ({ type: 'ticket', organization, id, company: 'acme' }));
  const broken = { ...organizationRecord(organization), psa: 'yes' };
  expect(await errorsOf(text(broken, { type: 'company', organization, id: 'acme', name: '' }, ...tickets))).toEqual([
    `1 organization ${organization} /psa invalid_type`,
    '2 company acme /name too_short',
  ]);
});

test('values of other records in the database are conflicts', async () => {
  const organization = await makeOrganization();
  const user = { type: 'user', organization, id: 'twin', email: 'TESS@northwind.example', name: 'Twin' };
  const agreement = { type: 'agreement', organization, id: 'second', company: 'acme', hourlyRate: 1 };
  expect(await errorsOf(text(user, agreement))).toEqual([
    '1 user twin /email conflict',
    '2 agreement second /active conflict',
  ]);
});

test('UTF-8 is decoded across chunks, and other bytes are reported by line', async () => {
  const organization = newId();
  const company = { type: 'company', organization, id: 'acme', name: 'Ümläut 🙂' };
  const good = new TextEncoder().encode(`\uFEFF${text(organizationRecord(organization), company)}\r\n`);
  async function* each(bytes: Uint8Array) {
    for (const byte of bytes) yield Uint8Array.of(byte);
  }
  expect(await importDirectory(env.DB, each(good))).toMatchObject({ ok: true, created: 3 });
  expect(await table('companies', organization)).toMatchObject([{ name: 'Ümläut 🙂' }]);
  expect(await errorsOf(each(Uint8Array.of(0x0a, 0x22, 0xff, 0x22)))).toEqual(['2 record  not_utf8']);
  expect(await errorsOf(each(new Uint8Array(MAX_LINE_BYTES + 1).fill(0x20)))).toEqual(['1 record  too_long']);
});

test('more records of an organization than one transaction can hold are refused', async () => {
  const organization = await makeOrganization();
  async function* tickets() {
    for (let i = 0; i <= MAX_ORGANIZATION_RECORDS; i++) {
      yield new TextEncoder().encode(
        `{"type":"ticket","organization":"${organization}","id":"${i}","company":"acme"}\n`,
      );
    }
  }
  expect(await errorsOf(tickets())).toEqual([
    `${MAX_ORGANIZATION_RECORDS + 1} organization ${organization}  too_many_records`,
  ]);
});

test('a repeated import writes nothing', async () => {
  const organization = newId();
  const source = text(
    organizationRecord(organization),
    { type: 'user', organization, id: 'tess', email: 'Tess@Northwind.example', name: 'Tess', technician: true },
    { type: 'company', organization, id: 'acme', name: 'Acme' },
    { type: 'agreement', organization, id: 'support', company: 'acme', hourlyRate: 150.25 },
    { type: 'ticket', organization, id: '1', company: 'acme' },
  );
  expect(await importDirectory(env.DB, source)).toMatchObject({ ok: true, records: 5, created: 6, changed: 0 });
  const { db, calls } = countD1(env.DB);
  expect(await importDirectory(db, source)).toMatchObject({ ok: true, created: 0, changed: 0, rowsWritten: 0 });
  expect(calls.reduce((total, { rowsWritten }) => total + rowsWritten, 0)).toBe(0);
});

test('a dry run reports each change and writes nothing', async () => {
  const organization = await makeOrganization();
  const changes: unknown[] = [];
  const { db, calls } = countD1(env.DB);
  const source = text(
    { type: 'ticket', organization, id: '1001', company: 'globex' },
    { type: 'ticket', organization, id: '1002', company: 'globex' },
    { type: 'user', organization, id: 'robot', email: 'robot@northwind.example', name: 'Robot', service: true },
  );
  const result = await importDirectory(db, source, { dryRun: true, onChange: (_, change) => changes.push(change) });
  expect(result).toMatchObject({ ok: true, created: 1, changed: 2, rowsWritten: 0 });
  expect(calls.reduce((total, { rowsWritten }) => total + rowsWritten, 0)).toBe(0);
  expect(changes).toEqual([
    { type: 'user', id: 'robot', status: 'created' },
    { type: 'ticket', id: '1001', status: 'changed' },
    { type: 'user', id: 'automation', status: 'changed' },
  ]);
});

test('users can swap their email addresses, and agreements their companies, in one import', async () => {
  const organization = await makeOrganization();
  await importRecords({ type: 'agreement', organization, id: 'initech-support', company: 'initech', hourlyRate: 200 });
  await importRecords(
    { type: 'user', organization, id: 'ada', email: 'tess@northwind.example', name: 'Ada', admin: true },
    { type: 'user', organization, id: 'tess', email: 'ada@northwind.example', name: 'Tess', technician: true },
    { type: 'agreement', organization, id: 'acme-support', company: 'initech', hourlyRate: 150 },
    { type: 'agreement', organization, id: 'initech-support', company: 'acme', hourlyRate: 200 },
  );
  expect((await table('users', organization)).map(({ id, email }) => `${id} ${email}`)).toEqual([
    'ada tess@northwind.example',
    'automation automation@northwind.example',
    'ivan ivan@northwind.example',
    'tess ada@northwind.example',
  ]);
  expect(await table('agreements', organization)).toMatchObject([
    { id: 'acme-support', company_id: 'initech', active: 1 },
    { id: 'initech-support', company_id: 'acme', active: 1 },
  ]);
});

test('ids that differ only in case are different records, and can swap their email addresses', async () => {
  const organization = `Fresh-${crypto.randomUUID().slice(0, 8)}`;
  const user = (id: string, email: string) => ({ type: 'user', organization, id, email, name: id });
  await importRecords(organizationRecord(organization), user('Bo', 'one@b.example'), user('bo', 'two@b.example'));
  await importRecords(user('Bo', 'two@b.example'), user('bo', 'one@b.example'));
  expect(await table('users', organization)).toMatchObject([
    { id: 'Bo', email: 'two@b.example' },
    { id: 'bo', email: 'one@b.example' },
    { id: 'service-account', is_service: 1 },
  ]);
});

test('an organization always has one service account, whichever users become or stop being it', async () => {
  const organization = await makeOrganization();
  const service = async () =>
    (await table('users', organization)).filter(({ is_service }) => is_service === 1).map(({ id }) => id);
  const user = (id: string, fields: object) =>
    importRecords({ type: 'user', organization, id, email: `${id}@northwind.example`, name: id, ...fields });

  await user('robot', { service: true });
  expect(await service()).toEqual(['robot']);
  expect((await table('users', organization)).find(({ id }) => id === 'automation')).toMatchObject({ active: 0 });
  await user('robot', {});
  expect(await service()).toEqual(['service-account']);
  await user('robot', { service: true });
  await user('robot', {});
  expect(await service()).toEqual(['service-account']);
});

test('each organization is written completely or not at all, and a second import completes one that was interrupted', async () => {
  const ids = [newId(), newId(), newId()];
  const source = text(
    ...ids.flatMap((organization) => [
      organizationRecord(organization),
      { type: 'company', organization, id: 'acme', name: 'Acme' },
      { type: 'ticket', organization, id: '1', company: 'acme' },
    ]),
  );
  let writes = 0;
  const cutOff = aroundD1(env.DB, async (run) => {
    const results = await run();
    if (results.some(({ meta }) => meta.rows_written > 0) && ++writes === 2) throw new Error('power failure');
    return results;
  });
  await expect(importDirectory(cutOff, source)).rejects.toMatchObject({
    code: 'unavailable',
    info: { database: 'unknown' },
  });
  const count = async () => {
    const { results } = await env.DB.prepare(
      'select o.id, (select count(*) from tickets t where t.organization_id = o.id) as tickets from organizations o where o.id in (?, ?, ?)',
    )
      .bind(...ids)
      .all();
    return results.map(({ tickets }) => tickets);
  };
  expect(await count()).toEqual([1, 1]);
  expect(await importDirectory(env.DB, source)).toMatchObject({ ok: true, created: 4 });
  expect(await count()).toEqual([1, 1, 1]);
});

test('an organization whose transaction fails is not written', async () => {
  const organization = newId();
  const failing = aroundD1(env.DB, async (run, statements) => {
    if (statements < 6) return run();
    // Another process takes the email address between the check and the write.
    await importRecords(organizationRecord(organization), {
      type: 'user',
      organization,
      id: 'first',
      email: 'a@b.example',
      name: 'First',
    });
    return run();
  });
  const source = text(
    organizationRecord(organization),
    { type: 'company', organization, id: 'acme', name: 'Acme' },
    { type: 'user', organization, id: 'a', email: 'a@b.example', name: 'A' },
    { type: 'ticket', organization, id: '1', company: 'acme' },
  );
  await expect(importDirectory(failing, source)).rejects.toThrow('D1 rejected');
  expect(await table('companies', organization)).toEqual([]);
});
