import { describe, expect, test } from 'vitest';
import { MAX_BODY_BYTES } from '../../src/http/middleware/json-body.ts';
import { importRecords, makeApi, makeKey, makeOrganization, rowsOf, TIME } from '../support/world.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[78][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

async function world() {
  const organization = await makeOrganization();
  const { value: key, id: keyId } = await makeKey(organization);
  return { organization, key, keyId, api: makeApi() };
}

describe('ping', () => {
  test('says whose key it is, and writes nothing', async () => {
    const { organization, key, api } = await world();
    const before = await rowsOf('audit_log', organization);
    const response = await api.send('/api/v1/ping', { key });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      ok: true,
      organizationId: organization,
      keyName: 'n8n: triage',
      scopes: ['tickets:note:write', 'tickets:time:write'],
    });
    expect(await rowsOf('audit_log', organization)).toEqual(before);
  });

  test('answers HEAD as GET, without a body', async () => {
    const { key, api } = await world();
    const response = await api.send('/api/v1/ping', { method: 'HEAD', key });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('');
  });
});

describe('a note', () => {
  test('is created with 201, kept exactly as sent, and audited against the key', async () => {
    const { organization, key, keyId, api } = await world();
    const message = '  Zeile 1\r\n𝕬ⓔ\u0301 عربي 👩‍👩‍👧\t';
    const response = await api.postNote(
      key,
      { message },
      { 'CF-Connecting-IP': '192.0.2.9', 'User-Agent': `n8n/${'x'.repeat(200)}` },
    );
    expect(response.status).toBe(201);
    const { note } = await response.json<{ note: { id: string; createdAt: string } }>();
    expect(note).toEqual({
      id: expect.stringMatching(UUID),
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    const [row, ...others] = await rowsOf('notes', organization);
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      id: note.id,
      ticket_id: '1001',
      message,
      key_id: keyId,
      created_at: Date.parse(note.createdAt),
    });
    expect((await rowsOf('audit_log', organization)).at(-1)).toEqual({
      organization_id: organization,
      seq: row?.['audit_seq'],
      at: row?.['created_at'],
      actor_type: 'api_key',
      actor_id: keyId,
      actor_name: 'n8n: triage',
      action: 'note.created',
      target_id: note.id,
      ticket_id: '1001',
      request_id: response.headers.get('X-Request-Id'),
      idempotency_key: null,
      source_address: '192.0.2.9',
      user_agent: `n8n/${'x'.repeat(96)}`,
      detail: null,
    });
  });
});

describe('a time entry', () => {
  test('is created with 201 as SUBMITTED, at the rate of the active agreement, credited to the service account', async () => {
    const { organization, key, keyId, api } = await world();
    const response = await api.postTime(key);
    expect(response.status).toBe(201);
    const body = await response.json<{ entry: { id: string } }>();
    expect(body).toEqual({
      entry: {
        id: expect.stringMatching(UUID),
        minutes: 30,
        workDate: `${new Date().toISOString().slice(0, 10)}T00:00:00.000Z`,
        status: 'SUBMITTED',
        billable: true,
        hourlyRate: 150,
        userId: 'automation',
      },
      agreementSource: 'company_default',
    });
    expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({
      actor_id: keyId,
      action: 'time_entry.created',
      target_id: body.entry.id,
      ticket_id: '1001',
    });
  });

  test.each([
    ['1002', 120, 'organization_default'],
    ['1003', 120, 'organization_default'],
  ])(
    'on ticket %s, whose company has no active agreement, has the default rate',
    async (ticket, hourlyRate, agreementSource) => {
      const { key, api } = await world();
      const response = await api.postTime(key, TIME, {}, ticket);
      expect(await response.json()).toMatchObject({ entry: { hourlyRate }, agreementSource });
    },
  );

  test('credits the technician named by userEmail, whatever its case', async () => {
    const { key, api } = await world();
    const response = await api.postTime(key, { ...TIME, userEmail: 'TESS@Northwind.Example' });
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ entry: { userId: 'tess' } });
  });

  test.each([
    ['unknown', 'nobody@northwind.example'],
    ["another organization's", 'fay@fabrikam.example'],
    ['inactive', 'ivan@northwind.example'],
    ['the service account', 'automation@northwind.example'],
    ['not a technician', 'ada@northwind.example'],
  ])('is refused when userEmail is %s, never credited to somebody else', async (_, userEmail) => {
    const { organization, key, api } = await world();
    const fay = { type: 'user', id: 'fay', email: 'fay@fabrikam.example', name: 'Fay', technician: true };
    await importRecords({ ...fay, organization: await makeOrganization() });
    const response = await api.postTime(key, { ...TIME, userEmail });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ code: 'technician_not_eligible' });
    expect(await rowsOf('time_entries', organization)).toEqual([]);
  });

  test.each([
    ['America/New_York', '2026-11-21T04:59:59.999Z', '2026-11-20'],
    ['America/New_York', '2026-11-21T05:00:00.000Z', '2026-11-21'],
    ['Asia/Tokyo', '2026-11-21T14:59:59.999Z', '2026-11-21'],
    ['Asia/Tokyo', '2026-11-21T15:00:00.000Z', '2026-11-22'],
    ['UTC', '2026-11-21T23:59:59.999Z', '2026-11-21'],
    ['America/New_York', '2026-03-09T03:59:59.999Z', '2026-03-08'],
    ['America/New_York', '2026-03-09T04:00:00.000Z', '2026-03-09'],
  ])('in %s at %s is dated %s', async (timeZone, instant, date) => {
    const organization = await makeOrganization({ timeZone });
    const now = () => Date.parse(instant);
    const { value: key } = await makeKey(organization, {}, now);
    const response = await makeApi({ now }).postTime(key);
    expect(await response.json()).toMatchObject({ entry: { workDate: `${date}T00:00:00.000Z` } });
  });
});

describe('every answer', () => {
  test('is not to be stored or sniffed and has a request id of our own making', async () => {
    const { key, api } = await world();
    const answers = [
      await api.send('/'),
      await api.send('/api/v1/ping'),
      await api.send('/api/v1/ping', { key, headers: { 'X-Request-Id': 'mine' } }),
      await api.postNote(key),
      await api.postNote(key, {}),
      await api.send('/api/v1/nowhere', { key }),
    ];
    for (const { headers } of answers) {
      expect(headers.get('Cache-Control')).toBe('no-store');
      expect(headers.get('X-Content-Type-Options')).toBe('nosniff');
      expect(headers.get('X-Request-Id')).toMatch(UUID);
    }
    expect(new Set(answers.map(({ headers }) => headers.get('X-Request-Id'))).size).toBe(answers.length);
  });

  test('after the key resolved tells the state of its limit', async () => {
    const { organization, api } = await world();
    const { value: key } = await makeKey(organization, { limit: { quota: 3, windowMs: 10_000 } });
    const fields = ({ headers }: Response) => [headers.get('RateLimit-Policy'), headers.get('RateLimit')];
    expect(fields(await api.send('/api/v1/ping', { key }))).toEqual(['"key";q=3;w=10', '"key";r=2;t=10']);
    expect(fields(await api.postNote(key, {}))).toEqual(['"key";q=3;w=10', '"key";r=1;t=10']);
    expect(fields(await api.send('/api/v1/nowhere', { key }))).toEqual(['"key";q=3;w=10', '"key";r=0;t=10']);
    expect(fields(await api.send('/api/v1/ping'))).toEqual([null, null]);
  });
});

describe('an address that does not exist', () => {
  test('is 404 for a good key of any scope and plan, 401 for everybody else', async () => {
    const organization = await makeOrganization({ psa: false });
    const { value: key } = await makeKey(organization, { scopes: ['tickets:note:write'] });
    const api = makeApi();
    for (const path of [
      '/api/v1/nowhere',
      '/api/v1/',
      '/api/v1',
      '/api/v1/ping/',
      '/api/v1/tickets/1001',
      '/api/v1/tickets//notes',
    ]) {
      const response = await api.send(path, { key });
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.json()).toMatchObject({ code: 'not_found' });
      expect((await api.send(path)).status).toBe(401);
    }
  });

  test('is 405 with Allow where the path exists for another method', async () => {
    const { key, api } = await world();
    const cases = [
      ['POST', '/api/v1/ping', 'GET, HEAD'],
      ['GET', '/api/v1/tickets/1001/notes', 'POST'],
      ['HEAD', '/api/v1/tickets/1001/notes', 'POST'],
      ['DELETE', '/api/v1/tickets/1001/time-entries', 'POST'],
      ['OPTIONS', '/api/v1/tickets/1001/time-entries', 'POST'],
    ] as const;
    for (const [method, path, allow] of cases) {
      const response = await api.send(path, { method, key });
      expect([method, response.status, response.headers.get('Allow')]).toEqual([method, 405, allow]);
      expect((await api.send(path, { method })).status).toBe(401);
    }
  });

  test('outside the API is 404 without a key', async () => {
    const response = await makeApi().send('/nowhere');
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'not_found' });
  });
});

describe('a ticket', () => {
  test("that is unknown, another organization's, deactivated (or its company is) or ill-formed is one and the same 404", async () => {
    const { organization, key, api } = await world();
    const other = await makeOrganization();
    await importRecords(
      { type: 'ticket', organization: other, id: '2001', company: 'acme' },
      { type: 'ticket', organization, id: 'closed', company: 'acme', active: false },
      { type: 'company', organization, id: 'gone', name: 'Gone', active: false },
      { type: 'ticket', organization, id: 'of-gone', company: 'gone' },
    );
    const nowhere = ['9999', '2001', 'closed', 'of-gone'];
    const absurd = [
      ...nowhere,
      'a%2Fb',
      '%2e%2e%2fx',
      'ticket 1001',
      "1001'--",
      '%00',
      '💥',
      'x'.repeat(65),
      'x'.repeat(4_000),
      '%zz',
    ];
    for (const ticket of absurd) {
      const response = await api.postNote(key, { message: 'x' }, {}, ticket);
      expect([ticket, response.status]).toEqual([ticket, 404]);
      expect(await response.json()).toMatchObject({ code: 'ticket_not_found' });
      expect((await api.postTime(key, TIME, {}, ticket)).status).toBe(404);
    }
    expect(await rowsOf('notes', organization)).toEqual([]);
    expect(await rowsOf('time_entries', organization)).toEqual([]);
  });

  test('of the same id in another organization is another ticket', async () => {
    const one = await world();
    const two = await world();
    await one.api.postNote(one.key, { message: 'for one' });
    await two.api.postNote(two.key, { message: 'for two' });
    expect(await rowsOf('notes', one.organization)).toMatchObject([{ ticket_id: '1001', message: 'for one' }]);
    expect(await rowsOf('notes', two.organization)).toMatchObject([{ ticket_id: '1001', message: 'for two' }]);
  });
});

describe('a body that does not fit', () => {
  const refusedNote: [string, unknown, string, string][] = [
    ['nothing', {}, '/message', 'required'],
    ['null', { message: null }, '/message', 'invalid_type'],
    ['a number', { message: 5 }, '/message', 'invalid_type'],
    ['an empty string', { message: '' }, '/message', 'too_short'],
    ['white space', { message: ' \t\n\u00a0\u2003\ufeff' }, '/message', 'too_short'],
    ['32,001 characters', { message: 'x'.repeat(32_001) }, '/message', 'too_long'],
    ['32,001 astral characters', { message: '𝕬'.repeat(32_001) }, '/message', 'too_long'],
    ['NUL', { message: 'a𝕬\0b' }, '/message', 'forbidden_character'],
    ['a lone surrogate', '{"message":"a𝕬\\ud800b"}', '/message', 'forbidden_character'],
    ['an unknown field', { message: 'x', internal: false }, '/internal', 'unknown_field'],
    ['a field of another case', { Message: 'x' }, '/message', 'required'],
    ['__proto__', '{"message":"x","__proto__":{}}', '/__proto__', 'unknown_field'],
    ['an array', [], '', 'invalid_type'],
    ['a string', '"message"', '', 'invalid_type'],
    ['null itself', 'null', '', 'invalid_type'],
  ];
  test.each(refusedNote)('with %s is refused by field and rule', async (_, body, pointer, code) => {
    const { organization, key, api } = await world();
    const response = await api.postNote(key, body);
    expect(response.status).toBe(422);
    const problem = await response.json<{
      code: string;
      detail: string;
      errors: { pointer: string; code: string; detail: string }[];
    }>();
    expect(problem.code).toBe('validation_failed');
    expect(problem.errors[0]).toMatchObject({ pointer, code });
    expect(problem.detail).toContain(problem.errors[0]?.detail);
    expect(await rowsOf('notes', organization)).toEqual([]);
  });

  const refusedTime: [string, Record<string, unknown>, string, string][] = [
    ['minutes as a string', { minutes: '30' }, '/minutes', 'invalid_type'],
    ['minutes 0', { minutes: 0 }, '/minutes', 'out_of_range'],
    ['minutes -0', { minutes: -0 }, '/minutes', 'out_of_range'],
    ['minutes 1441', { minutes: 1441 }, '/minutes', 'out_of_range'],
    ['minutes 1.5', { minutes: 1.5 }, '/minutes', 'invalid_type'],
    ['minutes true', { minutes: true }, '/minutes', 'invalid_type'],
    ['minutes null', { minutes: null }, '/minutes', 'invalid_type'],
    ['no minutes', { minutes: undefined }, '/minutes', 'required'],
    ['billable as a string', { billable: 'true' }, '/billable', 'invalid_type'],
    ['billable 1', { billable: 1 }, '/billable', 'invalid_type'],
    ['no billable', { billable: undefined }, '/billable', 'required'],
    ['no description', { description: undefined }, '/description', 'required'],
    ['userEmail empty', { userEmail: '' }, '/userEmail', 'invalid_format'],
    ['userEmail null', { userEmail: null }, '/userEmail', 'invalid_type'],
    ['userEmail not an address', { userEmail: 'tess' }, '/userEmail', 'invalid_format'],
    ['hourlyRate', { hourlyRate: 500 }, '/hourlyRate', 'unknown_field'],
    ['status', { status: 'APPROVED' }, '/status', 'unknown_field'],
    ['userId', { userId: 'tess' }, '/userId', 'unknown_field'],
  ];
  test.each(refusedTime)('with %s is refused by field and rule', async (_, change, pointer, code) => {
    const { organization, key, api } = await world();
    const response = await api.postTime(key, { ...TIME, ...change });
    expect(response.status).toBe(422);
    const problem = await response.json<{ detail: string; errors: { detail: string }[] }>();
    expect(problem.errors).toMatchObject([{ pointer, code }]);
    expect(problem.detail).toContain(problem.errors[0]?.detail);
    expect(await rowsOf('time_entries', organization)).toEqual([]);
  });

  test.each([
    [{ ...TIME, minutes: '30' }, 'minutes was the string "30"; send 30 without quotes.'],
    [{ ...TIME, minutes: '030' }, 'minutes was the string "030"; send 30 without quotes.'],
    [{ ...TIME, billable: 'true' }, 'billable was the string "true"; send true without quotes.'],
    [{ ...TIME, minutes: undefined }, 'minutes is missing; send a whole number from 1 to 1440.'],
    [{ ...TIME, description: 'a𝕬\0b' }, 'description has a NUL character at position 3; remove it.'],
    ['{"description":"a𝕬\\ud800b","minutes":1,"billable":true}', '(half of a character) at position 3;'],
    [{ ...TIME, description: 'x'.repeat(32_001) }, 'description has 32001 characters; send at most 32000.'],
    [{ ...TIME, hours: 1 }, 'Accepted fields: minutes, description, billable, userEmail.'],
    [[], 'The body was an array; send a JSON object with minutes, description, billable, userEmail.'],
  ])('%j is refused with what was sent and what to send', async (body, detail) => {
    const { key, api } = await world();
    const problem = await (await api.postTime(key, body)).json<{ detail: string }>();
    expect(problem.detail).toContain(detail);
  });

  test('names all its errors at once, and no more than 20', async () => {
    const { key, api } = await world();
    const problem = await (await api.postTime(key, { minutes: 'x', hourlyRate: 1 })).json<{
      detail: string;
      errors: { pointer: string }[];
    }>();
    expect(problem.errors.map(({ pointer }) => pointer).sort()).toEqual([
      '/billable',
      '/description',
      '/hourlyRate',
      '/minutes',
    ]);
    expect(problem.detail).toContain('(3 more in errors)');
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`field/${i}~`, i]));
    const crowded = await (await api.postNote(key, many)).json<{ errors: { pointer: string }[] }>();
    expect(crowded.errors).toHaveLength(20);
    expect(crowded.errors[1]?.pointer).toBe('/field~10~0');
  });

  test.each([
    ['1e999', 'minutes was Infinity'],
    ['123456789012345678901234567890', 'minutes was 1.2345678901234568e+29'],
  ])('with minutes %s is refused', async (minutes, detail) => {
    const { key, api } = await world();
    const response = await api.postTime(key, `{"minutes":${minutes},"description":"x","billable":true}`);
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ detail: expect.stringContaining(detail) });
  });

  test('takes the last of a field that stands twice, and skips a byte order mark', async () => {
    const { organization, key, api } = await world();
    expect((await api.postNote(key, '\ufeff{"message":"first","message":"second"}')).status).toBe(201);
    expect(await rowsOf('notes', organization)).toMatchObject([{ message: 'second' }]);
  });

  test('holds exactly 32,000 characters of any script, white space around them not counted', async () => {
    const { organization, key, api } = await world();
    const message = `\n ${'𝕬'.repeat(32_000)} \n`;
    expect((await api.postNote(key, { message })).status).toBe(201);
    expect((await rowsOf('notes', organization))[0]?.['message']).toBe(message);
  });
});

describe('a body that cannot be read', () => {
  test.each([
    ['{"message": "x",}', 'line 1, column 17, at "}"'],
    ["{'message': 'x'}", 'line 1, column 2, at "\'"'],
    ['{\n  "message": "a\nb"\n}', 'line 2, column 16, at "\\n"'],
    ['{\n  "message": Done,\n  "x": true\n}', 'line 2, column 14, at "D"'],
    ['{"message": 030}', 'line 1, column 14, at "3"'],
    ['message=x', 'line 1, column 1, at "m"'],
    ['🖨', 'line 1, column 1, at "🖨"'],
    [`{"message": "${'x'.repeat(65_536)}" "`, 'after its first 65536 characters'],
    ['{"message": "x"', 'ends too early'],
    ['[[[[', 'ends too early'],
    ['', 'The body is empty'],
    ['[object Object]', 'not JSON but the text "[object Object]"'],
    ['undefined', 'not JSON but the text "undefined"'],
  ])('%j is malformed_json, and says where', async (body, where) => {
    const { key, api } = await world();
    const response = await api.postNote(key, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 'malformed_json', detail: expect.stringContaining(where) });
  });

  test('with bytes that are not UTF-8 is refused, never stored with replacement characters', async () => {
    const { organization, key, api } = await world();
    const latin1 = new Uint8Array([
      ...new TextEncoder().encode('{"message":"Stra'),
      0xdf,
      ...new TextEncoder().encode('e"}'),
    ]);
    const response = await api.postNote(key, latin1);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      code: 'invalid_encoding',
      detail: expect.stringContaining('not UTF-8'),
    });
    expect(await rowsOf('notes', organization)).toEqual([]);
  });

  test('over 512 KiB is 413, whether its length was declared or not', async () => {
    const { key, api } = await world();
    const body = JSON.stringify({ message: 'x'.repeat(600 * 1024) });
    const declared = await api.postNote(key, body, { 'Content-Length': String(body.length) });
    expect(declared.status).toBe(413);
    expect(await declared.json()).toMatchObject({
      code: 'body_too_large',
      detail: expect.stringContaining('524288 bytes (512 KiB)'),
    });
    expect((await api.postNote(key, body)).status).toBe(413);
    const fits = JSON.stringify({ message: 'x' }).padEnd(MAX_BODY_BYTES);
    expect((await api.postNote(key, fits)).status).toBe(201);
    expect((await api.postNote(key, `${fits} `)).status).toBe(413);
  });

  test.each([
    ['text/plain', 'Content-Type was text/plain; send application/json'],
    ['application/x-www-form-urlencoded', 'send application/json'],
    ['application/vnd.api+json', 'send application/json'],
    ['application/json; charset=iso-8859-1', 'charset iso-8859-1; send UTF-8'],
    ['', 'Content-Type is missing; send application/json'],
  ])('sent as %j is 415', async (type, detail) => {
    const { key, api } = await world();
    const response = await api.postNote(key, { message: 'x' }, { 'Content-Type': type });
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({
      code: 'unsupported_media_type',
      detail: expect.stringContaining(detail),
    });
  });

  test.each(['application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"', 'application/json ; profile=x'])(
    'sent as %j is read',
    async (type) => {
      const { key, api } = await world();
      expect((await api.postNote(key, { message: 'x' }, { 'Content-Type': type })).status).toBe(201);
    },
  );

  test('sent compressed is 415', async () => {
    const { key, api } = await world();
    const response = await api.postNote(key, { message: 'x' }, { 'Content-Encoding': 'gzip' });
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({ detail: 'Content-Encoding was gzip; send the body uncompressed.' });
  });
});

describe('an Idempotency-Key', () => {
  test.each([
    ['empty', ''],
    ['256 long', 'x'.repeat(256)],
    ['two words', 'a b'],
    ['half quoted', '"abc'],
    ['not ASCII', 'ä'],
  ])('%s is refused', async (_, value) => {
    const { organization, key, api } = await world();
    for (const response of [
      await api.postNote(key, undefined, { 'Idempotency-Key': value }),
      await api.postTime(key, TIME, { 'Idempotency-Key': value }),
    ]) {
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        code: 'invalid_idempotency_key',
        detail: expect.stringContaining('1 to 255 visible ASCII characters'),
      });
    }
    expect(await rowsOf('notes', organization)).toEqual([]);
  });

  const SECRET = 'twb_'.length + 40;
  test.each([
    ['alone', (key: string) => key],
    ['quoted', (key: string) => `"${key}"`],
    ['in a longer text', (key: string) => `flow:${key}:1`],
    ['without its last character', (key: string) => key.slice(0, -1)],
    ['without its checksum', (key: string) => `flow:${key.slice(0, SECRET)}`],
    ['without its checksum and seven characters', (key: string) => key.slice(0, SECRET - 7)],
  ])('an API key %s is refused, and kept nowhere', async (_, misuse) => {
    const { organization, key, api } = await world();
    const response = await api.postNote(key, undefined, { 'Idempotency-Key': misuse(key) });
    expect(await response.json()).toMatchObject({
      status: 400,
      code: 'invalid_idempotency_key',
      detail: expect.stringContaining('contains an API key'),
    });
    expect(await rowsOf('notes', organization)).toEqual([]);
    expect(JSON.stringify(await rowsOf('audit_log', organization))).not.toContain(key.slice(0, SECRET - 7));
  });

  test('what only looks like an API key is as good as any other value', async () => {
    const { key, api } = await world();
    for (const value of [
      `other_${'x'.repeat(46)}`,
      `twb_${crypto.randomUUID().replaceAll('-', '')}`,
      'twb_invoice20418and20419',
    ]) {
      expect((await api.postNote(key, undefined, { 'Idempotency-Key': value })).status).toBe(201);
    }
  });

  test('sent twice is refused', async () => {
    const { key } = await world();
    const headers = new Headers({ Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' });
    headers.append('Idempotency-Key', 'a');
    headers.append('Idempotency-Key', 'a');
    const { exports } = await import('cloudflare:workers');
    const response = await exports.default.fetch('https://api.example/api/v1/tickets/1001/notes', {
      method: 'POST',
      headers,
      body: '{"message":"x"}',
    });
    expect(response.status).toBe(400);
  });
});
