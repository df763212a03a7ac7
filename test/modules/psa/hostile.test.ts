import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import firstUpsert from '../../../src/modules/psa/assets/docs/psa/samples/first-upsert.json';
import { callText } from '../../../src/modules/psa/docs/call-texts.ts';
import { PSA_CALL_TYPES } from '../../../src/modules/psa/psa-calls.ts';
import { changedJson, headerValue, rowCounts, Tally } from '../../support/hostile.ts';
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

/** The examples of all calls, and one record of each type. */
const messages = [
  ...PSA_CALL_TYPES.map((type) => ({ type, data: callText(type).data })),
  { type: 'directory.upsert', data: firstUpsert.data },
];
const others = [...messages.map(({ type }) => type), 'own', 'entry', 'ada', 'tess', '1001', 'user', 'REJECTED'];
/** An example with up to two changes. */
const message = fc
  .constantFrom(...messages)
  .chain((example) => changedJson(example, others))
  .chain((json) => changedJson(json, others));

test('every signed message gets a documented response, whatever it contains', async () => {
  const tally = new Tally();
  await fc.assert(
    fc.asyncProperty(message, async (value) => {
      const body = JSON.stringify(value)
        .replaceAll(/"(own|northwind)"/g, JSON.stringify(organization))
        .replaceAll(/"(entry|[0-9a-f-]{36})"/g, JSON.stringify(entry));
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
  const before = await rowCounts(organization);
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
  expect(await rowCounts(organization)).toEqual(before);
});
