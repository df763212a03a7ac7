import { expect, test } from 'vitest';
import { inLongRuns } from '../support/property.ts';
import type { MakeFake } from './fake.ts';
import { fakeConnectWise } from './fake-connectwise.ts';
import { fakeHalo } from './fake-halo.ts';
import { fakeRedmine } from './fake-redmine.ts';
import { FAULTS, MINUTE_MS, makeReadyWorld, notesOf, TESS, time, timesOf } from './world.ts';

const { records, faults } = inLongRuns({ records: 300, faults: 100 }, { records: 60, faults: 14 });

/** Writes records while requests fail in every way, the PSA and the service are dead for a minute, and the adapter is killed. */
async function torture(makeFake: MakeFake) {
  const world = await makeReadyWorld(makeFake);
  const done: Record<string, number> = {};
  let count = 0;
  let deadUntil = 0;
  world.onRequest = ({ method }) => {
    if (world.clock() < deadUntil) return 'lost';
    // Every third write fails, each time in another way; sometimes reads fail too.
    const isHit = method === 'GET' ? Math.random() < 0.02 : Math.random() < 0.34;
    if (!isHit || count >= faults) return undefined;
    const fault = FAULTS[count % FAULTS.length];
    count += 1;
    if (fault) done[fault] = (done[fault] ?? 0) + 1;
    if (count === Math.floor(faults / 2)) deadUntil = world.clock() + MINUTE_MS;
    return fault;
  };
  const text = (index: number) => `Record ${index} of ${records}`;
  for (let index = 0; index < records; index++) {
    const ticket = 501 + (index % 10);
    const body =
      index % 2 === 0
        ? { message: text(index) }
        : {
            minutes: 1 + (index % 90),
            description: text(index),
            billable: index % 3 === 0,
            userEmail: TESS,
          };
    const { status } = await world.write(ticket, body, `event:${index}`);
    expect(status).toBe(201);
    if (index % 10 === 9) {
      if (index === Math.floor(records / 20) * 10 + 9) world.onCall = () => 'rejected';
      await world.pass(MINUTE_MS / 2);
      world.onCall = () => undefined;
    }
  }
  for (let wait = 0; wait < 40 && (await world.waiting()) > 0; wait++) await world.pass(5 * MINUTE_MS);
  const { data, fake } = world;
  const found = [
    ...data.notes.map(({ ticket, text, isPrivate }) => `${ticket} ${fake.plain(text)}${isPrivate ? '' : ' PUBLIC'}`),
    ...data.entries.map(({ ticket, text, minutes }) => `${ticket} ${fake.plain(text)} ${minutes}`),
  ];
  const expected = Array.from(
    { length: records },
    (_, index) => `${501 + (index % 10)} ${text(index)}${index % 2 === 0 ? '' : ` ${1 + (index % 90)}`}`,
  );
  return { found: found.sort(), expected: expected.sort(), done, violations: data.violations };
}

test.each<[string, MakeFake]>([
  ['ConnectWise', fakeConnectWise],
  ['HaloPSA', fakeHalo],
  ['Redmine', fakeRedmine],
])(
  `%s contains each of ${records} records once, after ${faults} faults, an outage, and kills of the adapter`,
  { timeout: 600_000 },
  async (_, makeFake) => {
    const { found, expected, done, violations } = await torture(makeFake);
    expect(found).toEqual(expected);
    expect(violations).toEqual([]);
    expect(Object.keys(done)).toHaveLength(FAULTS.length);
  },
);

test('the control, which does not look for a record before it is created again, writes some twice', {
  timeout: 600_000,
}, async () => {
  const { found, expected } = await torture((clock) => {
    const fake = fakeConnectWise(clock);
    // The tests of the adapter look for what they wrote, and are not about this.
    const find: typeof fake.psa.find = async (send, record) =>
      / test$/.test(record.text) ? fake.psa.find(send, record) : [];
    return { ...fake, psa: { ...fake.psa, find } };
  });
  expect(found.length).toBeGreaterThan(expected.length);
  expect(new Set(found).size).toBe(expected.length);
});

test('however long what precedes a create takes, it is not repeated while the first one may still take place', async () => {
  const world = await makeReadyWorld(fakeRedmine);
  const late: { at: number; take: () => Promise<unknown> }[] = [];
  const sent = new Set<string>();
  let isSlow = false;
  world.onRequest = async (request) => {
    for (const { at, take } of late.splice(0))
      if (at <= world.clock()) await take();
      else late.push({ at, take });
    if (!isSlow) return undefined;
    if (request.method === 'GET') {
      world.suspend(29_000);
      return undefined;
    }
    const body = await request.clone().text();
    if (request.method === 'DELETE' || sent.has(request.url)) return undefined;
    sent.add(request.url);
    const copy = new Request(request.url, { method: request.method, headers: request.headers, body });
    // A gateway gives up, and the PSA goes on.
    late.push({ at: world.clock() + 40_000, take: () => world.fake.fetch(copy) });
    isSlow = false;
    return new Response('<html>', { status: 504 });
  };
  for (const [ticket, body] of [[501, { message: 'Note' }] as const, [502, time('Called')] as const]) {
    isSlow = true;
    await world.write(ticket, body);
    await world.pass(10 * MINUTE_MS);
  }
  // The time test was sent to the same address as the entry.
  sent.clear();
  isSlow = true;
  await world.write(503, time('Next'));
  await world.pass(10 * MINUTE_MS);
  expect([notesOf(world), timesOf(world)]).toEqual([[[501, 'Note', true]], ['Called', 'Next']]);
});

test('a request or a response that the vendor does not describe is found', async () => {
  const world = await makeReadyWorld((clock) => {
    const fake = fakeConnectWise(clock);
    const send = fake.fetch;
    return {
      ...fake,
      fetch: async (request) => {
        if (request.method !== 'POST') return send(request);
        const body = { ...(await request.json<object>()), noted: true };
        return send(new Request(request.url, { method: 'POST', headers: request.headers, body: JSON.stringify(body) }));
      },
    };
  });
  expect(world.data.violations).toEqual(['POST /service/tickets/{parentId}/notes: /noted is unknown']);
});
