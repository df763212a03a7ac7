import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parseWebhookSecrets, signWebhook } from '../../../../src/domain/webhook.ts';
import { freePort } from '../../../support/server.ts';
import { SAMPLE_RECEIVERS, type SampleReceiver, startReceiver } from '../sample-receivers.ts';
import { type PsaRecord, startSlowPsa } from '../slow-psa.ts';

// The receivers that /docs/psa offers, each with the interpreter that is installed here.

const SECRET = `whsec_${btoa('the secret of this test, 32 byte')}`;
const OTHER = `whsec_${btoa('another secret, also of 32 bytes')}`;
const LONG_PAUSE_S = 3_600;
const SHORT_PAUSE_S = 0.05;
const WAIT = { interval: 20, timeout: 20_000 };

const plain = (text: string) => ({ mediaType: 'text/plain', text });
const idOf = (number: number) => `a0000000-0000-8000-8000-${String(number).padStart(12, '0')}`;
/** A note with the id of this number, as change `seq`. */
const note = (seq: number, text: string, { action = 'note.created', number = seq, ticketId = '1001' } = {}) => ({
  seq,
  action,
  targetId: idOf(number),
  ticketId,
  note: { id: idOf(number), ticketId, message: plain(text) },
  timeEntry: null,
  key: null,
});
const timeEntry = (
  seq: number,
  text: string,
  { action = 'time_entry.created', number = seq, status = 'SUBMITTED', approvals = 'psa', by = 'system' } = {},
) => ({
  seq,
  action,
  actor: { type: by },
  targetId: idOf(number),
  ticketId: '1001',
  note: null,
  timeEntry: {
    id: idOf(number),
    ticketId: '1001',
    userId: 'tess',
    minutes: 7,
    description: plain(text),
    billable: false,
    workDate: '2026-11-21T00:00:00.000Z',
    hourlyRate: 150.5,
    approvals,
    status,
  },
  key: null,
});
const keyCreated = (seq: number) => ({ seq, action: 'api_key.created', targetId: 'k', note: null, timeEntry: null });
const pageOf = (organization: string, ...changes: object[]) =>
  JSON.stringify({ type: 'work.changes', data: { organization, changes, cursor: 'x' } });
const page = (...changes: object[]) => pageOf('northwind', ...changes);

/** A receiver of a new directory with a PSA behind it. */
async function makeWorld(sample: SampleReceiver, pause: number, limit = 3_600) {
  const directory = await mkdtemp(join(tmpdir(), 'twb-receiver-'));
  const psa = await startSlowPsa(10);
  const port = await freePort();
  const start = () =>
    startReceiver(sample, directory, port, {
      WEBHOOK_SECRET: `${OTHER} ${SECRET}`,
      PSA_URL: psa.url,
      PAUSE: String(pause),
      LIMIT: String(limit),
    });
  let receiver = await start();
  const queue = join(directory, 'queue');
  const folder = join(queue, 'northwind');
  return {
    psa,
    queue,
    url: receiver.url,
    printed: () => receiver.printed(),
    post: async (body: string, { id = 'msg_1', secret = SECRET, at = Date.now(), sent = body } = {}) => {
      const headers = { ...(await signWebhook(parseWebhookSecrets(secret), { id, at, body })) };
      return (await fetch(receiver.url, { method: 'POST', headers, body: sent })).status;
    },
    /** The files of the organization's queue, in the order of their names. */
    queued: async (extension = '.json'): Promise<{ name: string; content: unknown }[]> => {
      const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(extension)).sort();
      const read = async (name: string) => ({ name, content: JSON.parse(await readFile(join(folder, name), 'utf8')) });
      return Promise.all(names.map(read));
    },
    /** Puts the changes that were set aside back into the queue, as the page says. */
    putBack: async () => {
      for (const name of await readdir(folder))
        await rename(join(folder, name), join(folder, name.replace('.refused', '.json')));
    },
    /** The data of the reports, in their order. */
    reports: () =>
      Array.from(receiver.printed().matchAll(/^\{.*"work\.report".*\}$/gm), ([line]) => JSON.parse(line).data),
    restart: async () => {
      await receiver.kill();
      receiver = await start();
    },
    close: async () => {
      await receiver.kill();
      await psa.close();
      await rm(directory, { recursive: true });
    },
  };
}
type World = Awaited<ReturnType<typeof makeWorld>>;

// The receivers run at the same time, and the tests of each one after the other.
describe.concurrent.each(SAMPLE_RECEIVERS)('the receiver in $language', (sample) => {
  let world: World;
  beforeAll(async () => {
    world = await makeWorld(sample, LONG_PAUSE_S);
    // What arrives stays in the queue, because the first write fails.
    world.psa.isDown = true;
  });
  afterAll(() => world.close());

  test.sequential('refuses messages that are unsigned, signed with another secret, changed on the way, or old', async () => {
    const { post, queued, url } = world;
    const body = page(note(1, 'forged'));
    const wrong = `whsec_${btoa('a secret that it does not have..')}`;
    expect(await post(body, { secret: wrong })).toBe(401);
    expect(await post(page(note(1, 'other')), { sent: body })).toBe(401);
    expect(await post(body, { at: Date.now() - 400_000 })).toBe(401);
    expect(await post(body, { at: Date.now() + 400_000 })).toBe(401);
    expect((await fetch(url, { method: 'POST', body })).status).toBe(401);
    expect(await queued()).toEqual([]);
  });

  test.sequential.for([`${SECRET} `, ` ${SECRET}`, `${SECRET}  ${OTHER}\n`])(
    'refuses a message that is signed with the empty key, with WEBHOOK_SECRET=%j',
    async (secrets, { onTestFinished }) => {
      const directory = await mkdtemp(join(tmpdir(), 'twb-receiver-'));
      const variables = { WEBHOOK_SECRET: secrets, PSA_URL: world.psa.url, PAUSE: '1' };
      const { url, kill } = await startReceiver(sample, directory, await freePort(), variables);
      onTestFinished(async () => {
        await kill();
        await rm(directory, { recursive: true });
      });
      const body = '{"type":"test","data":{}}';
      const statusOf = async (keys: Uint8Array<ArrayBuffer>[]) => {
        const headers = { ...(await signWebhook(keys, { id: 'msg_1', at: Date.now(), body })) };
        return (await fetch(url, { method: 'POST', headers, body })).status;
      };
      // HMAC pads its key with zeros, so a zero signs as the empty key.
      expect(await statusOf([new Uint8Array(1)])).toBe(401);
      expect(await statusOf(parseWebhookSecrets(SECRET))).toBe(204);
    },
  );

  test.concurrent.each([undefined, '', ' ', 'whsec_', `whsec_${btoa('twenty-three bytes long')}`, `${SECRET} whsec_`])(
    'does not start with WEBHOOK_SECRET=%j',
    async (WEBHOOK_SECRET) => {
      const { WEBHOOK_SECRET: _, ...inherited } = process.env;
      const env = { ...inherited, ...(WEBHOOK_SECRET !== undefined && { WEBHOOK_SECRET }), PSA_URL: world.psa.url };
      const options = { env: { ...env, PSA_AUTHORIZATION: 'Bearer token', QUEUE: world.queue }, timeout: 20_000 };
      const ended = promisify(execFile)(sample.program, [sample.file, String(await freePort())], options);
      await expect(ended).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringContaining('WEBHOOK_SECRET needs a secret of at least 24 bytes.'),
      });
    },
  );

  test.sequential('does not confirm a page that it cannot store', async () => {
    await rm(world.queue, { recursive: true, force: true });
    await writeFile(world.queue, '');
    const status = await world.post(page(note(1, 'lost?'))).catch(() => 'no response');
    expect(['no response', 500]).toContain(status);
    await rm(world.queue);
    await world.restart();
  });

  test.sequential('stores a page once, even if it is sent again, signed with either secret', async () => {
    const { post, queued } = world;
    const [first, second] = [note(1, 'Grüße 🖨️'), timeEntry(2, '"quoted"\n')];
    const pages = [page(first, second), page(keyCreated(3), note(4, 'third'))] as const;
    expect(await post(pages[0])).toBe(204);
    expect(await post(pages[0])).toBe(204);
    expect(await post(pages[1], { id: 'msg_2', secret: OTHER })).toBe(204);
    expect(await post(pages[1], { id: 'msg_2', secret: `${OTHER} ${SECRET}` })).toBe(204);
    const [names, contents] = [
      (await queued()).map(({ name }) => name),
      (await queued()).map(({ content }) => content),
    ];
    expect(contents).toEqual([first, second, note(4, 'third')].map((one) => ({ ...one, organization: 'northwind' })));
    expect(names).toEqual([
      `000000000001-note.created-${idOf(1)}.json`,
      `000000000002-time_entry.created-${idOf(2)}.json`,
      `000000000004-note.created-${idOf(4)}.json`,
    ]);
  });

  test.sequential('accepts a message of an unknown type, such as an alert, and takes no change from it', async () => {
    const { post, queued } = world;
    const before = (await queued()).length;
    const alert = {
      type: 'alert',
      data: { organization: 'northwind', text: 'x', changes: [note(9, 'no')] },
    };
    expect(await post('{"type":"test","data":{}}', { id: 'msg_test' })).toBe(204);
    expect(await post(JSON.stringify(alert), { id: 'alert_1' })).toBe(204);
    expect(await queued()).toHaveLength(before);
  });
});

describe.concurrent.each(SAMPLE_RECEIVERS)('the receiver in $language, into a PSA,', (sample) => {
  let world: World;
  beforeAll(async () => {
    world = await makeWorld(sample, SHORT_PAUSE_S);
  });
  afterAll(() => world.close());

  const records = (): readonly PsaRecord[] => world.psa.records;
  const waitForEmptyQueue = ({ queued } = world) => vi.waitFor(async () => expect(await queued()).toEqual([]), WAIT);

  test.sequential('writes each record once with its id, exactly and in order', async () => {
    const body = page(note(1, 'Grüße 🖨️\n"x"'), timeEntry(2, '<b>'));
    for (let time = 0; time < 2; time++) {
      expect(await world.post(body)).toBe(204);
      await waitForEmptyQueue();
    }
    expect(records()).toEqual([
      { path: 'notes', id: 1, externalId: idOf(1), ticket: '1001', text: 'Grüße 🖨️\n"x"', internal: true },
      {
        path: 'time-entries',
        id: 2,
        externalId: idOf(2),
        ticket: '1001',
        text: '<b>',
        user: 'tess',
        date: '2026-11-21',
        minutes: 7,
        billable: false,
        hourlyRate: 150.5,
        status: 'SUBMITTED',
      },
    ]);
  });

  test.sequential('writes a review that comes without its record only into an existing entry', async () => {
    const review = (seq: number, number: number) => ({
      ...timeEntry(seq, '', { action: 'time_entry.rejected', number }),
      timeEntry: null,
    });
    expect(await world.post(page(review(200, 2), review(201, 99)))).toBe(204);
    await waitForEmptyQueue();
    expect(records()).toMatchObject([{ id: 1 }, { id: 2, text: '<b>', status: 'REJECTED' }]);
    expect(records()).toHaveLength(2);
  });

  test.sequential('creates time that the settings area decides when it is approved, and never if it is rejected', async () => {
    const settings = { approvals: 'settings' };
    const decided = (seq: number, number: number, status: string) =>
      timeEntry(seq, '', { ...settings, number, status, action: `time_entry.${status.toLowerCase()}` });
    const created = [30, 31, 32].map((number) => timeEntry(number, '', { ...settings, number }));
    const redacted = timeEntry(33, '[redacted]', { ...settings, number: 32, action: 'time_entry.redacted' });
    const before = records().length;
    expect(await world.post(page(...created, redacted, decided(34, 31, 'REJECTED')))).toBe(204);
    await waitForEmptyQueue();
    expect(records()).toHaveLength(before);
    // The change of the creation can show the approval, and comes again.
    const late = timeEntry(30, '', { ...settings, number: 30, status: 'APPROVED' });
    expect(await world.post(page(late, decided(35, 30, 'APPROVED')))).toBe(204);
    await waitForEmptyQueue();
    expect(records().slice(before)).toMatchObject([{ externalId: idOf(30), status: 'APPROVED' }]);
    world.psa.records.splice(before);
  });

  test.sequential('writes a decision and a redaction into the existing records', async () => {
    const approved = timeEntry(3, '<b>', { action: 'time_entry.approved', number: 2, status: 'APPROVED' });
    const redacted = note(4, '[redacted]', { action: 'note.redacted', number: 1 });
    expect(await world.post(page(approved, redacted))).toBe(204);
    await waitForEmptyQueue();
    expect(records()).toMatchObject([
      { id: 1, text: '[redacted]' },
      { id: 2, status: 'APPROVED' },
    ]);
    expect(records()).toHaveLength(2);
  });

  test.sequential('recognizes the same record under another seq, such as after a restore', async () => {
    const again = note(1, 'under the seq of an other', { number: 7 });
    expect(await world.post(page(again, timeEntry(9, '<b>', { number: 2 })))).toBe(204);
    await waitForEmptyQueue();
    expect(records().map(({ externalId }) => externalId)).toEqual([idOf(1), idOf(2), idOf(7)]);
  });

  test.sequential('reports each record that the PSA refuses, sets it aside, and continues', async () => {
    const statuses = [400, 404, 409, 410, 413, 422];
    for (const status of statuses) world.psa.refusals.set(`t${status}`, status);
    const refused = statuses.map((status, index) => note(100 + index, 'no', { ticketId: `t${status}` }));
    expect(await world.post(page(...refused, note(110, 'next')))).toBe(204);
    await waitForEmptyQueue();
    expect(records().at(-1)).toMatchObject({ text: 'next' });
    // A page that is sent again does not bring them back.
    expect(await world.post(page(...refused))).toBe(204);
    await waitForEmptyQueue();
    expect(await world.queued('.refused')).toHaveLength(statuses.length);
    const told = statuses.map((status, index) => ({ id: idOf(100 + index), reason: `HTTP ${status}` }));
    const data = { organization: 'northwind', kind: 'note', result: 'refused' };
    expect(world.reports()).toEqual(told.map((one) => ({ ...data, ...one })));
  });

  test.sequential('reports that the PSA takes a record that was put back after its refusal', async () => {
    world.psa.refusals.clear();
    const before = world.reports().length;
    await world.putBack();
    await waitForEmptyQueue();
    expect(
      records()
        .slice(-6)
        .map(({ ticket }) => ticket),
    ).toEqual(['t400', 't404', 't409', 't410', 't413', 't422']);
    const ids = [100, 101, 102, 103, 104, 105].map(idOf);
    const data = { organization: 'northwind', kind: 'note', result: 'taken' };
    expect(world.reports().slice(before)).toEqual(ids.map((id) => ({ ...data, id })));
  });

  // A 407 is an error of the network for Node's fetch.
  test.sequential.each(sample.language === 'Node' ? [401, 403] : [401, 403, 407])(
    'reports a %i once, and waits until the PSA takes the record',
    async (status) => {
      const before = world.reports().length;
      const [first, second, third, other] = [status, status + 10, status + 20, status + 30];
      for (const ticketId of ['denied', 'denied too']) world.psa.refusals.set(ticketId, status);
      const denied = [first, second].map((seq) => note(seq, `after ${status}`, { ticketId: 'denied' }));
      const deniedToo = note(third, `after ${status}`, { ticketId: 'denied too' });
      expect(await world.post(page(...denied, deniedToo, note(other, 'other ticket')))).toBe(204);
      await vi.waitFor(() => expect(records().at(-1)).toMatchObject({ text: 'other ticket' }), WAIT);
      const { calls } = world.psa;
      await vi.waitFor(() => expect(world.psa.calls).toBeGreaterThan(calls + 4), WAIT);
      expect(await world.queued()).toHaveLength(3);
      world.psa.refusals.clear();
      await waitForEmptyQueue();
      const written = records().filter(({ ticket, text }) => ticket === 'denied' && text === `after ${status}`);
      expect(written.map(({ externalId }) => externalId)).toEqual([first, second].map(idOf));
      const data = { organization: 'northwind', kind: 'note', id: idOf(first) };
      expect(world.reports().slice(before)).toEqual([
        { ...data, result: 'refused', reason: `HTTP ${status}` },
        { ...data, result: 'taken' },
      ]);
    },
  );

  test.sequential('writes no record for a returned report', async () => {
    const before = records().length;
    const returned = [
      note(12, 'refused', { action: 'note.refused' }),
      timeEntry(13, 'taken', { action: 'time_entry.taken' }),
    ];
    expect(await world.post(page(...returned, note(14, 'after it')))).toBe(204);
    await vi.waitFor(() => expect(records()).toHaveLength(before + 1), WAIT);
    expect(records().at(-1)).toMatchObject({ text: 'after it' });
  });

  test.sequential('creates no time that an administrator has entered by hand, and redacts what is there', async () => {
    const before = records().length;
    const timeIn = (entries: readonly PsaRecord[]) => entries.filter(({ path }) => path === 'time-entries');
    expect(await world.post(page(timeEntry(50, 'written')))).toBe(204);
    await waitForEmptyQueue();
    for (const number of [50, 51]) world.psa.refusals.set(idOf(number), 403);
    const approved = timeEntry(52, 'written', { action: 'time_entry.approved', number: 50, status: 'APPROVED' });
    expect(await world.post(page(timeEntry(51, 'denied'), approved))).toBe(204);
    const { calls } = world.psa;
    await vi.waitFor(() => expect(world.psa.calls).toBeGreaterThan(calls + 2), WAIT);
    const entered = [50, 51].map((number) =>
      timeEntry(number + 10, '', { action: 'time_entry.taken', number, by: 'user' }),
    );
    const redacted = [50, 51].map((number) =>
      timeEntry(number + 20, '[redacted]', { action: 'time_entry.redacted', number }),
    );
    expect(await world.post(page(...entered, ...redacted))).toBe(204);
    // A write that has begun is refused, and the next one is not tried.
    await vi.waitFor(async () => expect((await world.queued())[0]).toMatchObject({ content: { seq: 52 } }), WAIT);
    world.psa.refusals.clear();
    await waitForEmptyQueue();
    expect(timeIn(records().slice(before))).toMatchObject([{ externalId: idOf(50), text: '[redacted]' }]);
  });

  test.sequential('keeps a change while the code that writes it fails in any way, and writes it afterwards', async () => {
    world.psa.isConfused = true;
    const rejected = timeEntry(15, '<b>', { action: 'time_entry.rejected', number: 2, status: 'REJECTED' });
    const { calls } = world.psa;
    expect(await world.post(page(rejected))).toBe(204);
    await vi.waitFor(() => expect(world.psa.calls).toBeGreaterThan(calls + 1), WAIT);
    expect(await world.queued()).toMatchObject([{ content: { seq: 15 } }]);
    world.psa.isConfused = false;
    await waitForEmptyQueue();
    expect(records()[1]).toMatchObject({ id: 2, status: 'REJECTED' });
  });

  // The tests that follow have a receiver of their own, and run at the same time.
  test.concurrent('sets aside what alone gets a status other than 2xx for too long', async () => {
    const limited = await makeWorld(sample, SHORT_PAUSE_S, 2);
    const { psa } = limited;
    const statuses = [403, 408, 425, 429, 500];
    try {
      for (const status of statuses) psa.refusals.set(idOf(status), status);
      const bad = statuses.map((status) => note(status, 'bad', { ticketId: `t${status}` }));
      const after = statuses.map((status) => note(1_000 + status, 'after it', { ticketId: `t${status}` }));
      expect(await limited.post(page(...bad, ...after))).toBe(204);
      // Their tickets wait, another does not.
      for (let seq = 1; (await limited.queued('.refused')).length < statuses.length; seq++) {
        if (seq === 2) expect(psa.records.map(({ text }) => text)).not.toContain('after it');
        expect(await limited.post(page(note(seq, 'other', { ticketId: 'other' })), { id: `msg_${seq}` })).toBe(204);
        await vi.waitFor(() => expect(psa.records.some(({ externalId }) => externalId === idOf(seq))).toBe(true), WAIT);
      }
      await waitForEmptyQueue(limited);
      expect(psa.records.filter(({ text }) => text === 'after it')).toHaveLength(statuses.length);
      psa.refusals.clear();
      await limited.putBack();
      await vi.waitFor(() => expect(limited.reports()).toHaveLength(2 * statuses.length), WAIT);
      for (const status of statuses)
        expect(limited.reports().filter(({ id }) => id === idOf(status))).toMatchObject([
          { result: 'refused', reason: expect.stringContaining(String(status)) },
          { result: 'taken' },
        ]);
    } finally {
      await limited.close();
    }
  });

  test.concurrent('sets nothing aside in an outage, however long', async () => {
    const limited = await makeWorld(sample, 0.2, 0.5);
    const { psa } = limited;
    try {
      psa.isDown = true;
      const tickets = ['a', 'b', 'c'].map((ticketId, index) => note(index + 1, ticketId, { ticketId }));
      expect(await limited.post(page(...tickets))).toBe(204);
      const { calls } = psa;
      await vi.waitFor(() => expect(psa.calls).toBeGreaterThan(calls + 12), WAIT);
      expect(await limited.queued()).toHaveLength(3);
      psa.isDown = false;
      await waitForEmptyQueue(limited);
      expect(psa.records.map(({ text }) => text).sort()).toEqual(['a', 'b', 'c']);
      expect(limited.reports()).toEqual([]);
    } finally {
      await limited.close();
    }
  });

  test.concurrent("writes an organization's change while another organization waits", async () => {
    const waiting = await makeWorld(sample, LONG_PAUSE_S);
    try {
      waiting.psa.refusals.set('1001', 500);
      expect(await waiting.post(page(note(1, 'waits')))).toBe(204);
      await vi.waitFor(() => expect(waiting.psa.calls).toBe(2), WAIT);
      const other = pageOf('fabrikam', note(1, 'follows', { number: 2, ticketId: '7' }));
      expect(await waiting.post(other, { id: 'msg_2' })).toBe(204);
      await vi.waitFor(() => expect(waiting.psa.records).toMatchObject([{ text: 'follows' }]), WAIT);
    } finally {
      await waiting.close();
    }
  });

  test.concurrent('does not repeat a create that a kill interrupted while the PSA still works on it', async () => {
    const cut = await makeWorld(sample, 1);
    let isCut = false;
    cut.psa.onCreate = async (moment) => {
      if (moment === 'stored' || isCut) return;
      isCut = true;
      const { calls } = cut.psa;
      await cut.restart();
      // The record is stored only after a look-up that comes too early.
      for (const until = Date.now() + 500; cut.psa.calls === calls && Date.now() < until; ) await setTimeout(5);
    };
    try {
      expect(await cut.post(page(note(1, 'once'), note(2, 'next')))).toBe(204);
      await waitForEmptyQueue(cut);
      expect(cut.psa.records.map(({ text }) => text)).toEqual(['once', 'next']);
    } finally {
      await cut.close();
    }
  });

  test.sequential('does not bring a redacted text back with an older approval that was set aside', async () => {
    const [created, approved, redacted] = [
      timeEntry(40, 'personal', { number: 40 }),
      timeEntry(41, 'personal', { action: 'time_entry.approved', number: 40, status: 'APPROVED' }),
      timeEntry(42, '[redacted]', { action: 'time_entry.redacted', number: 40, status: 'APPROVED' }),
    ];
    const entry = () => records().find(({ externalId }) => externalId === idOf(40));
    expect(await world.post(page(created))).toBe(204);
    await waitForEmptyQueue();
    world.psa.refusals.set(idOf(40), 409);
    expect(await world.post(page(approved))).toBe(204);
    await waitForEmptyQueue();
    world.psa.refusals.clear();
    expect(await world.post(page(redacted))).toBe(204);
    await waitForEmptyQueue();
    await world.putBack();
    await waitForEmptyQueue();
    expect(entry()).toMatchObject({ text: '[redacted]', status: 'APPROVED', minutes: 7 });
  });

  test('confirms while the PSA is down, and later writes everything in order', async () => {
    world.psa.isDown = true;
    for (const seq of [20, 21, 22])
      expect(await world.post(page(note(seq, `note ${seq}`)), { id: `msg_${seq}` })).toBe(204);
    const { calls } = world.psa;
    await vi.waitFor(() => expect(world.psa.calls).toBeGreaterThan(calls + 1), WAIT);
    world.psa.isDown = false;
    await waitForEmptyQueue();
    const texts = records().map(({ text }) => text);
    expect(texts.slice(-3)).toEqual(['note 20', 'note 21', 'note 22']);
  });
});

test('at least one receiver was run', () => {
  expect(SAMPLE_RECEIVERS).not.toEqual([]);
});
