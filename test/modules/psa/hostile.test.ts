import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { PSA_CALL_TYPES, type PsaCallType } from '../../../src/modules/psa/psa-calls.ts';
import { anyText, headerValue, rowCounts, Tally } from '../../support/hostile.ts';
import { inLongRuns, runs } from '../../support/property.ts';
import { psaContract } from '../../support/static-files.ts';
import { makeWorld, UNLIMITED } from '../../support/world.ts';
import { makePsa, signed } from './support.ts';

const psa = makePsa({ config: UNLIMITED });
const contract = await psaContract();

let organization: string;
let entry: string;
beforeAll(async () => {
  const world = await makeWorld();
  organization = world.organization;
  const created = await world.api.postTime(world.key);
  entry = (await created.json<{ entry: { id: string } }>()).entry.id;
});

const id = fc.oneof(fc.constantFrom('acme', '1001', 'ada', 'tess', 'automation', 'service-account'), anyText);
const flag = fc.oneof({ weight: 4, arbitrary: fc.boolean() }, { weight: 1, arbitrary: fc.jsonValue() });
const rate = fc.oneof(fc.constantFrom(0, 99.5, 100_000), fc.double());
/** A record that is often valid; `own` is the organization, which is known only later. */
const record = fc.record(
  {
    type: fc.constantFrom('organization', 'user', 'company', 'agreement', 'ticket', 'invoice'),
    organization: fc.oneof({ weight: 6, arbitrary: fc.constant('own') }, { weight: 1, arbitrary: anyText }),
    id,
    name: anyText,
    email: fc.oneof(fc.emailAddress(), anyText),
    company: id,
    timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'Mars/Base'),
    psa: flag,
    admin: flag,
    technician: flag,
    service: flag,
    active: flag,
    hourlyRate: rate,
    defaultHourlyRate: rate,
  },
  { requiredKeys: ['type', 'id'] },
);
const FIELDS: Record<string, readonly string[]> = {
  organization: ['type', 'id', 'name', 'psa', 'timeZone', 'defaultHourlyRate', 'active'],
  user: ['type', 'organization', 'id', 'email', 'name', 'admin', 'technician', 'service', 'active'],
  company: ['type', 'organization', 'id', 'name', 'active'],
  agreement: ['type', 'organization', 'id', 'company', 'hourlyRate', 'active'],
  ticket: ['type', 'organization', 'id', 'company', 'active'],
};
/** Most records have the fields of their type only. */
const fitting = fc
  .tuple(record, fc.nat(9))
  .map(([fields, other]) =>
    other === 0
      ? fields
      : Object.fromEntries(Object.entries(fields).filter(([name]) => FIELDS[fields.type]?.includes(name))),
  );

const organizationId = fc.constant('own');
const reference = fc.record({ type: fc.constantFrom('user', 'ticket', 'company'), id });
const DATA: Record<PsaCallType, fc.Arbitrary<unknown>> = {
  'directory.upsert': fc.record(
    { organization: organizationId, records: fc.array(fitting, { maxLength: 3 }), allOrNothing: flag },
    { requiredKeys: ['organization', 'records'] },
  ),
  'directory.deactivate': fc.record({ organization: organizationId, records: fc.array(reference, { maxLength: 4 }) }),
  'directory.list': fc.record(
    { organization: organizationId, type: fc.constantFrom('user', 'ticket', 'invoice'), cursor: fc.option(id) },
    { requiredKeys: ['organization', 'type'] },
  ),
  'work.changes': fc.record({
    organization: organizationId,
    cursor: fc.oneof(fc.constant(null), anyText),
    limit: fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 1, max: 100 }) },
      { weight: 1, arbitrary: fc.jsonValue() },
    ),
  }),
  'work.release': fc.record({ organization: organizationId, cursor: fc.oneof(fc.constant(null), anyText) }),
  'work.review': fc.record({
    organization: organizationId,
    entry: fc.constant('entry'),
    decision: fc.constantFrom('APPROVED', 'REJECTED', 'approved'),
    reviewer: id,
  }),
  'work.report': fc.record(
    {
      organization: organizationId,
      kind: fc.constantFrom('note', 'time_entry'),
      id: fc.constant('entry'),
      result: fc.constantFrom('refused', 'taken'),
      reason: anyText,
    },
    { requiredKeys: ['organization', 'kind', 'id', 'result'] },
  ),
  'work.status': fc.record({ organization: fc.oneof(organizationId, anyText) }, { requiredKeys: [] }),
  'push.resume': fc.record({ organization: organizationId, by: anyText }),
  'push.skip': fc.record({ organization: organizationId, to: anyText, by: anyText }),
  'work.redact': fc.record({
    organization: organizationId,
    kind: fc.constantFrom('note', 'time_entry'),
    id: fc.constant('entry'),
    by: anyText,
  }),
};
const message = fc.oneof(
  ...PSA_CALL_TYPES.map((type) => ({ weight: 4, arbitrary: fc.record({ type: fc.constant(type), data: DATA[type] }) })),
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom(...PSA_CALL_TYPES), data: fc.jsonValue() }) },
  { weight: 1, arbitrary: fc.jsonValue() },
);

test('every signed message gets a documented response, whatever it contains', async () => {
  const tally = new Tally();
  await fc.assert(
    fc.asyncProperty(message, async (value) => {
      const body = JSON.stringify(value)
        .replaceAll('"own"', JSON.stringify(organization))
        .replaceAll('"entry"', JSON.stringify(entry));
      const response = await psa.post(body);
      expect(await contract.undocumented('POST /psa', response)).toEqual([]);
      expect([200, 400, 404, 409, 422]).toContain(response.status);
      tally.add(response.status);
    }),
    { numRuns: runs('signed messages', inLongRuns(250, 125)) },
  );
  tally.print('signed messages by status');
  expect(tally.of(200)).toBeGreaterThan(10);
});

test('every other body and header gets a documented response, and changes nothing', async () => {
  const before = await rowCounts();
  const headers = fc.record(
    {
      'webhook-id': headerValue,
      'webhook-timestamp': fc.oneof(headerValue, fc.integer().map(String)),
      'webhook-signature': headerValue,
      'content-type': headerValue,
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), headers, fc.boolean(), async (bytes, wrong, isSigned) => {
      const init = isSigned ? signed(new TextDecoder().decode(bytes)) : { method: 'POST', body: bytes, headers: {} };
      const response = await psa.api.send('/psa', { ...init, headers: { ...init.headers, ...wrong } });
      expect(await contract.undocumented('POST /psa', response)).toEqual([]);
      expect([400, 401, 415, 422]).toContain(response.status);
    }),
    { numRuns: runs('other bodies', 150) },
  );
  expect(await rowCounts()).toEqual(before);
});
