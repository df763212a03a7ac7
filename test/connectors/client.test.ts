import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { limitText, WriteBackClient, WriteBackError } from '../../src/connectors/client-typescript/src/index.ts';

// The client against responses that the test decides. test/e2e/recipes.test.ts runs it against the service.

const settings = { url: 'https://tickets.example', key: 'twb_a', workflow: 'triage' };
const note = { ticketId: '1001', eventId: 'evt-1', message: 'Disk was full' };
const entry = { ticketId: '1001', eventId: 'evt-1', minutes: 30, description: 'Cleared it', billable: true };
const NOTE = { note: { id: 'a', createdAt: '2026-11-22T09:30:00.000Z' } };

/** A response, an exception, or none in time. */
type Outcome = Response | Error | 'silence';
const json = (status: number, body: object, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers });
const problem = (status: number, code: string, headers: Record<string, string> = {}) =>
  json(status, { title: code, status, code, detail: `About ${code}.`, requestId: 'r-1' }, headers);

interface Sent {
  url: string;
  method: string;
  authorization: string | null;
  idempotencyKey: string | null;
  prefer: string | null;
  body: string;
  atSeconds: number;
}

let sent: Sent[];
/** Responds with these outcomes, one for each attempt. */
function respondWith(...outcomes: Outcome[]) {
  const start = Date.now();
  vi.stubGlobal('fetch', async (request: Request, { signal }: { signal: AbortSignal }) => {
    const { url, method, headers } = request;
    sent.push({
      url,
      method,
      authorization: headers.get('Authorization'),
      idempotencyKey: headers.get('Idempotency-Key'),
      prefer: headers.get('Prefer'),
      body: await request.text(),
      atSeconds: (Date.now() - start) / 1000,
    });
    const outcome = outcomes.shift() ?? new Error('one attempt too many');
    signal.throwIfAborted();
    if (outcome === 'silence')
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    if (outcome instanceof Error) throw outcome;
    return outcome;
  });
}

beforeEach(() => {
  sent = [];
  vi.useFakeTimers();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

/** The result of a call, or its error, while the clock advances through every wait. */
async function settled<Result>(call: Promise<Result>): Promise<Result | WriteBackError> {
  const result = call.catch((err: unknown) => {
    if (err instanceof WriteBackError) return err;
    throw err;
  });
  await vi.runAllTimersAsync();
  return result;
}
const client = (changes: object = {}) => new WriteBackClient({ ...settings, ...changes });

describe('a call', () => {
  test('sends the key, the body without the target, and the event id after the name of the workflow', async () => {
    respondWith(json(201, NOTE));
    expect(await settled(client().addInternalNote(note))).toEqual(NOTE);
    expect(sent).toEqual([
      {
        url: 'https://tickets.example/api/v1/tickets/1001/notes',
        method: 'POST',
        authorization: 'Bearer twb_a',
        idempotencyKey: 'triage:evt-1',
        prefer: 'handling=strict',
        body: '{"message":"Disk was full"}',
        atSeconds: 0,
      },
    ]);
  });

  test('checks a note or an entry with the request of its write, at the address of the dry run', async () => {
    const checked = { dryRun: true, ticketId: '1001' };
    respondWith(...[201, 200, 201, 200].map((status) => json(status, status === 200 ? checked : NOTE)));
    await settled(client().addInternalNote(note));
    expect(await settled(client().dryRunNote(note))).toEqual(checked);
    await settled(client().logTime(entry));
    expect(await settled(client().dryRunTime(entry))).toEqual(checked);
    const [addNote, checkNote, logTime, checkTime] = sent;
    expect(checkNote).toEqual({ ...addNote, url: `${addNote?.url}/dry-run` });
    expect(checkTime).toEqual({ ...logTime, url: `${logTime?.url}/dry-run` });
  });

  test('escapes the id of the ticket', async () => {
    respondWith(json(201, NOTE));
    await settled(client().addInternalNote({ ...note, ticketId: '../ping?' }));
    expect(sent[0]?.url).toBe('https://tickets.example/api/v1/tickets/..%2Fping%3F/notes');
  });

  test('waits for the seconds in Retry-After, and then sends the same request', async () => {
    respondWith(problem(429, 'rate_limited', { 'Retry-After': '7' }), json(201, NOTE));
    expect(await settled(client().addInternalNote(note))).toEqual(NOTE);
    expect(sent.map(({ atSeconds }) => atSeconds)).toEqual([0, 7.5]);
    expect(sent[1]).toMatchObject({ idempotencyKey: 'triage:evt-1', body: sent[0]?.body });
  });

  test('waits until the date in Retry-After, and ignores a date that has passed or cannot be read', async () => {
    vi.setSystemTime(new Date('2026-11-23T10:00:00Z'));
    const dates = ['Mon, 23 Nov 2026 10:00:08 GMT', 'Mon, 23 Nov 2026 10:00:00 GMT', 'soon'];
    respondWith(...dates.map((date) => problem(429, 'rate_limited', { 'Retry-After': date })), json(201, NOTE));
    expect(await settled(client().addInternalNote(note))).toEqual(NOTE);
    // After the first wait, the backoff of the attempts: 2 and 4 seconds.
    expect(sent.map(({ atSeconds }) => atSeconds)).toEqual([0, 8.5, 11, 15.5]);
  });

  test('repeats after an unknown outcome, a lost connection, silence and a page of a proxy, waiting longer each time', async () => {
    respondWith(
      problem(503, 'outcome_unknown'),
      new TypeError('fetch failed'),
      new Response('<h1>Bad gateway</h1>', { status: 502 }),
      json(200, { ...NOTE, idempotentReplay: true }),
    );
    expect(await settled(client().addInternalNote(note))).toMatchObject({ idempotentReplay: true });
    expect(sent.map(({ atSeconds }) => atSeconds)).toEqual([0, 1.5, 4, 8.5]);
    expect(new Set(sent.map(({ idempotencyKey }) => idempotencyKey))).toEqual(new Set(['triage:evt-1']));
  });

  test('gives up after its attempts with the last error', async () => {
    respondWith(...Array.from({ length: 3 }, () => problem(503, 'outcome_unknown', { 'Retry-After': '5' })));
    const error = await settled(client({ attempts: 3 }).addInternalNote(note));
    expect(error).toMatchObject({
      name: 'WriteBackError',
      code: 'outcome_unknown',
      message: 'About outcome_unknown.',
      status: 503,
      requestId: 'r-1',
      retryAfterSeconds: 5,
      isTransient: true,
    });
    expect(sent).toHaveLength(3);
  });

  test('gives up immediately if it would have to wait for hours', async () => {
    respondWith(problem(429, 'daily_limit_reached', { 'Retry-After': '7200' }));
    const error = await settled(client().addInternalNote(note));
    expect(error).toMatchObject({ code: 'daily_limit_reached', retryAfterSeconds: 7200, isTransient: true });
    expect(sent).toHaveLength(1);
  });

  test('ends an attempt without a response after its time', async () => {
    vi.useRealTimers();
    respondWith('silence');
    const error = await client({ attempts: 1, timeoutMs: 5 })
      .ping()
      .catch((err: unknown) => err);
    expect(error).toMatchObject({ code: 'no_response', status: undefined, isTransient: true });
  });

  test.each<[when: string, outcome: Outcome]>([
    ['an attempt', 'silence'],
    ['a wait', problem(503, 'outcome_unknown')],
  ])('ends during %s with the reason of its signal', async (_, outcome) => {
    const controller = new AbortController();
    const { signal } = controller;
    const reason = new Error('The program ends.');
    respondWith(outcome);
    const ended = expect(client({ timeoutMs: 1_000_000 }).addInternalNote({ ...note, signal })).rejects.toBe(reason);
    setTimeout(() => controller.abort(reason), 500);
    await vi.advanceTimersByTimeAsync(500);
    await ended;
    await expect(client().ping({ signal })).rejects.toBe(reason);
    expect(sent).toHaveLength(2);
  });

  test('ends at any other 4xx without a repetition', async () => {
    const errors = [{ pointer: '/message', code: 'required', detail: 'message is missing' }];
    respondWith(json(422, { title: '', status: 422, code: 'validation_failed', detail: 'message is missing', errors }));
    expect(await settled(client().addInternalNote(note))).toMatchObject({
      code: 'validation_failed',
      fields: errors,
      isTransient: false,
    });
    respondWith(json(401, { type: 'about:blank', title: 'Unauthorized', status: 401 }, { 'X-Request-Id': 'r-2' }));
    expect(await settled(client().ping())).toMatchObject({
      code: 'unauthorized',
      message: expect.stringMatching(
        /mistyped, expired or revoked, lacks the scope, or may not be used from this address.* https:\/\/tickets\.example\/docs\/errors#unauthorized$/,
      ),
      requestId: 'r-2',
      isTransient: false,
    });
    respondWith(new Response('', { status: 302 }));
    expect(await settled(client().ping())).toMatchObject({
      code: 'unexpected_response',
      message: expect.stringContaining('status 302 and is not from the service'),
      status: 302,
    });
    expect(sent).toHaveLength(3);
  });
});

describe('a reused event id', () => {
  test('fails', async () => {
    respondWith(problem(409, 'idempotency_mismatch'));
    expect(await settled(client().addInternalNote(note))).toMatchObject({
      code: 'idempotency_mismatch',
      message: 'About idempotency_mismatch.',
      isTransient: false,
    });
  });

  test('returns the record that exists if the caller accepts it', async () => {
    const mismatch = { ...NOTE, idempotentReplay: true, idempotencyMismatch: true, ticketId: '1002' };
    respondWith(json(200, mismatch));
    expect(await settled(client().addInternalNote({ ...note, acceptMismatch: true }))).toEqual(mismatch);
    expect(sent[0]).toMatchObject({ prefer: null, body: '{"message":"Disk was full"}' });
  });
});

describe('an entry for a technician who is not eligible', () => {
  const forTess = { ...entry, userEmail: 'tess@northwind.example' };
  const written = { entry: { id: 'b' }, agreementSource: 'company_default' };

  test('makes the call fail', async () => {
    respondWith(problem(422, 'technician_not_eligible'));
    expect(await settled(client().logTime(forTess))).toMatchObject({ code: 'technician_not_eligible' });
  });

  test.each([
    ['when it is refused', problem(422, 'technician_not_eligible')],
    ['when it was credited so before', problem(409, 'idempotency_mismatch')],
  ])('credits the service account if the caller asks for it, %s', async (_, first) => {
    respondWith(first, json(201, written));
    expect(await settled(client().logTime({ ...forTess, orServiceAccount: true }))).toEqual(written);
    expect(sent.map(({ body }) => body.includes('userEmail'))).toEqual([true, false]);
    expect(sent.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['triage:evt-1', 'triage:evt-1']);
  });
});

describe('the client', () => {
  test('throws in a browser', () => {
    vi.stubGlobal('document', {});
    expect(() => client()).toThrow('An API key does not belong in a browser');
  });

  test('accepts plain HTTP only on this machine', () => {
    expect(() => client({ url: 'http://tickets.example' })).toThrow('http://tickets.example is not HTTPS');
    for (const url of ['http://localhost:8787', 'http://127.0.0.1:8787', 'http://[::1]:8787'])
      expect(client({ url })).toBeDefined();
  });

  test.each(['', 'twb_a b', 'twb_“a”', 'Bearer twb_a'])('refuses the key %j without showing it', (key) => {
    expect(() => client({ key })).toThrow(/^The API key is empty or contains a character that no key contains\.$/);
  });

  test('sends its requests with the function and to the path that the program sets', async () => {
    respondWith(json(200, { ok: true }));
    const { fetch } = globalThis;
    vi.stubGlobal('fetch', () => expect.fail('the global function'));
    await settled(client({ url: 'https://gateway.example/tickets/', fetch }).ping());
    expect(sent[0]?.url).toBe('https://gateway.example/tickets/api/v1/ping');
  });

  test('removes the line break at the end of a key', async () => {
    respondWith(json(200, { ok: true }));
    await settled(client({ key: 'twb_a\n' }).ping());
    expect(sent[0]?.authorization).toBe('Bearer twb_a');
  });

  test('refuses an event id that no header can contain, and sends nothing', async () => {
    respondWith();
    for (const eventId of ['évt', 'evt 1', 'evt\n1'])
      expect(await settled(client().addInternalNote({ ...note, eventId }))).toMatchObject({
        code: 'invalid_idempotency_key',
      });
    expect(sent).toEqual([]);
  });

  test('cuts a text without splitting a character', () => {
    expect(limitText('🖨️'.repeat(20_000))).toBe('🖨️'.repeat(16_000));
    expect(limitText('short')).toBe('short');
  });
});
