import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countD1 } from '../../support/d1.ts';
import { anyText, EVIL_ATTRIBUTE, EVIL_ELEMENT, EVIL_MARKUP, rowCounts, Tally } from '../../support/hostile.ts';
import { inLongRuns, runs } from '../../support/property.ts';
import { formBody, keyIn, makeSettings } from '../../support/settings.ts';
import { importRecords, makeKey, rowsOf, TIME } from '../../support/world.ts';

type Settings = Awaited<ReturnType<typeof makeSettings>>;
type Fields = Record<string, string | string[]>;

/** The fields of a valid form, except for its token. */
const GOOD = {
  name: 'n8n',
  scopes: ['tickets:note:write', 'tickets:time:write'],
  expires: 'none',
  date: '',
  grace: '1h',
};

/** The first and last dates that different date types can represent, and some invalid dates. */
const DATES = [
  '0000-01-01',
  '0001-01-01',
  '9999-12-31',
  '0000-00-00',
  '2027-02-30',
  '-000001-01-01',
  '+275760-09-13',
  '10000-01-01',
];

/** Names, most of them unique. */
let named = 0;
const name = fc.oneof(
  { weight: 4, arbitrary: anyText.map((text) => `${text}${++named}`) },
  { weight: 1, arbitrary: anyText },
  { weight: 1, arbitrary: fc.tuple(anyText, fc.nat(120)).map(([text, times]) => `x${text}`.repeat(times)) },
);
const otherField = fc.oneof(
  fc.tuple(
    fc.constantFrom(
      'token',
      'scopes',
      'expires',
      'date',
      'grace',
      'revision',
      'dayLimitRecords',
      'dayLimitMinutes',
      '__proto__',
      'organization',
    ),
    anyText,
  ),
  fc.tuple(
    fc.constantFrom('dayLimitRecords', 'dayLimitMinutes'),
    fc.constantFrom('0', '-1', '1e2', '1.5', '201', '٣', '9'.repeat(1_000), '0x1', ' 5'),
  ),
  fc.tuple(fc.constant('expires'), fc.constantFrom('30', '365', 'date', '')),
  fc.tuple(fc.constant('date'), fc.constantFrom('2999-12-31', ...DATES)),
);
/** A valid form except for its name, and perhaps for one more field. */
const fields = fc.tuple(name, fc.option(otherField)).map(
  ([name, other]): Fields => ({
    ...GOOD,
    token: crypto.randomUUID(),
    name,
    revision: '0',
    ...(other && { [other[0]]: other[1], ...(other[0] === 'date' && { expires: 'date' }) }),
  }),
);
const noise = fc.oneof(
  fc.constantFrom(
    'name=%',
    'name=%ff%fe',
    'name=%C0%AF',
    '&&&===&',
    'name=a&name=b&token',
    'scope[]=x&name[$ne]=',
    '%00=%00',
    '+',
  ),
  fc.string({ unit: 'binary' }),
);

/** The key of a step: the live one, the revoked one, or none that exists. */
const target = fc.oneof({ weight: 4, arbitrary: fc.constantFrom('live', 'revoked') }, anyText);
const form = fc.oneof(
  { weight: 4, arbitrary: fc.constant('/keys') },
  ...['change', 'rotate', 'revoke'].map((what) => ({
    weight: 1,
    arbitrary: target.map((key) => `/keys/${encodeURIComponent(key.toWellFormed())}/${what}`),
  })),
  { weight: 1, arbitrary: fc.constantFrom('/which-key', '/revoke-all', '/key-rules', '/nowhere') },
);
const KEY_FILTERS = ['show', 'saved', 'state', 'scope', 'creator', 'unused', 'expires', 'refused', 'sort', 'page'];
const parameter = fc.tuple(
  fc.constantFrom('key', 'action', 'ticket', 'from', 'to', 'q', 'before', 'done', '__proto__', ...KEY_FILTERS),
  fc.oneof(anyText, fc.constantFrom('1', '0', '9'.repeat(15), '2027-01-01', 'revoked', 'constructor', ...DATES)),
);
const address = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('/audit', '/audit.csv', '/keys', '/keys.csv', '/refused', '/key-rules', '/time'),
      fc.array(parameter, { maxLength: 3 }),
    )
    .map(([path, parameters]) => `${path}?${new URLSearchParams(parameters)}`),
  fc
    .tuple(target, fc.constantFrom('', '/change', '/rotate', '/revoke', '/x'))
    .map(([key, page]) => `/keys/${encodeURIComponent(key.toWellFormed())}${page}`),
  anyText.map((text) => `/${text}`),
);

const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ form, body: fields }) },
  { weight: 1, arbitrary: fc.record({ form, body: noise }) },
  {
    weight: 1,
    arbitrary: fc.record({ form: fc.constant('/which-key'), body: anyText.map((pasted): Fields => ({ pasted })) }),
  },
  { weight: 4, arbitrary: fc.record({ address }) },
);

const timeZone = fc.constantFrom('UTC', 'America/New_York', 'Pacific/Kiritimati');

/** A text as HTML source. */
const inHtml = (text: string) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

/** Elements, attributes and links to other sites in a page that only typed text can have caused. */
async function injected(page: string): Promise<string[]> {
  const found: string[] = [];
  const rewriter = new HTMLRewriter().on('*', {
    element({ tagName, attributes }) {
      if (tagName === EVIL_ELEMENT) found.push(tagName);
      for (const [name = '', value = ''] of attributes) {
        if (name === EVIL_ATTRIBUTE || name.startsWith('on') || name === 'style') found.push(`${tagName} ${name}`);
        if (['href', 'src', 'action'].includes(name) && !/^(\/(?!\/)|#)/.test(value)) found.push(`${name}="${value}"`);
      }
    },
  });
  await rewriter.transform(new Response(page)).text();
  return found;
}

/**
 * An organization whose names, keys and callers contain markup, wherever they may: in the
 * directory, in its two keys (one revoked and used once more) and in the headers of requests.
 */
async function makeSettingsWithMarkup(timeZone: string, DB: D1Database) {
  const settings = await makeSettings({ bindings: { DB } });
  const { organization, api, post } = settings;
  const technician = 'tess@northwind.example';
  await importRecords(
    { type: 'organization', id: organization, name: EVIL_MARKUP, psa: true, timeZone, defaultHourlyRate: 1 },
    { type: 'user', organization, id: 'ada', email: `ada@${organization}.example`, name: EVIL_MARKUP, admin: true },
    { type: 'user', organization, id: 'tess', email: technician, name: EVIL_MARKUP, technician: true },
  );
  const live = await makeKey(organization, { name: EVIL_MARKUP });
  const revoked = await makeKey(organization, { name: `${EVIL_MARKUP}2` });
  const caller = {
    // Not the markup of a text, which no log may contain.
    'User-Agent': EVIL_MARKUP.replace(`"'>`, `'">`),
    'Idempotency-Key': EVIL_MARKUP.replaceAll(' ', '/').replace(/^"/, ''),
    'CF-Connecting-IP': EVIL_MARKUP,
  };
  expect((await api.postTime(live.value, { ...TIME, userEmail: technician }, caller)).status).toBe(201);
  await post(`/keys/${revoked.id}/revoke`, {});
  await api.postNote(revoked.value, undefined, caller);
  return { ...settings, live, revoked };
}

test('hostile forms and addresses get no 5xx, become no markup, and write nothing unless they are accepted', async () => {
  const d1 = countD1(env.DB);
  const tally = new Tally();

  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 12 }), timeZone, async (steps, timeZone) => {
      const settings = await makeSettingsWithMarkup(timeZone, d1.db);
      const { organization, api, get, post, live, revoked } = settings;
      const withIds = (path: string) =>
        path.replace('/keys/live', `/keys/${live.id}`).replace('/keys/revoked', `/keys/${revoked.id}`);

      for (const step of steps) {
        await api.settled();
        const before = await rowCounts(organization);
        d1.calls.length = 0;
        const response =
          'address' in step ? await get(withIds(step.address)) : await post(withIds(step.form), step.body);
        const kind = 'address' in step ? 'page' : 'form';
        tally.add(`${kind} ${response.status}`);
        expect([200, 301, 303, 400, 404, 409, 413, 415]).toContain(response.status);
        if (kind === 'page' || response.status >= 400) {
          expect(d1.calls.filter(({ rowsWritten }) => rowsWritten > 0)).toEqual([]);
          expect(await rowCounts(organization)).toEqual(before);
        }
        if (response.headers.get('Content-Type')?.startsWith('text/html'))
          expect(await injected(response.text)).toEqual([]);
        if ('form' in step && step.form === '/keys' && response.status === 200)
          await expectNamed(settings, response.text, typedName(step.body));
      }
      for (const page of ['/keys', '/audit', '/refused', `/keys/${live.id}`, `/keys/${revoked.id}`]) {
        const { status, text } = await get(page);
        expect([status, await injected(text)]).toEqual([200, []]);
        // The markup is in the page, as text.
        expect(text).toContain(inHtml(EVIL_MARKUP));
      }
    }),
    { numRuns: runs('hostile forms, in sequences of 8 to 12', inLongRuns(25, 6)), endOnFailure: true },
  );
  tally.print('hostile forms and pages by status');
  expect(tally.of('form 200')).toBeGreaterThan(4);
  expect(tally.of('form 400')).toBeGreaterThan(4);
}, 600_000);

/** The name in a form, as it was typed. */
const typedName = (body: Fields | string) =>
  new URLSearchParams(typeof body === 'string' ? body : formBody(body)).get('name') ?? '';

/**
 * Expects that an accepted name is stored, and shown in the response to a ping, in the pages and in
 * the CSV file: in NFC, trimmed, and with single spaces.
 */
async function expectNamed({ organization, api, get }: Settings, created: string, typed: string): Promise<void> {
  const name = typed.normalize('NFC').trim().replace(/\s+/g, ' ');
  const codePoints = (text: unknown) => Array.from(String(text), (point) => point.codePointAt(0));
  const row = (await rowsOf('api_keys', organization)).find(
    (one) => codePoints(one['name']).join() === codePoints(name).join(),
  );
  expect(row).toBeDefined();
  const ping = await api.send('/api/v1/ping', { key: keyIn(created) });
  expect(codePoints((await ping.json<{ keyName: string }>()).keyName)).toEqual(codePoints(name));
  expect(created).toContain(inHtml(name));
  for (const page of ['/keys', '/audit', `/keys/${row?.['id']}/change`])
    expect((await get(page)).text).toContain(inHtml(name));
  const csv = (await get('/keys.csv')).text;
  const inCsv = name.replaceAll('"', '""');
  expect([`\n"${inCsv}",`, `\n"'${inCsv}",`].some((cell) => csv.includes(cell))).toBe(true);
}

test.each(['UTC', 'America/New_York', 'Pacific/Kiritimati'])(
  'dates at the bounds of date types, in %s, are accepted or refused with 400',
  async (timeZone) => {
    const { get, createKey } = await makeSettings({ timeZone });
    for (const date of DATES) {
      const responses = [
        ...(await Promise.all(
          ['/audit?from=', '/audit?to=', '/audit.csv?to='].map((path) => get(path + encodeURIComponent(date))),
        )),
        await createKey({ name: date, expires: 'date', date }),
      ];
      for (const { status } of responses) expect([200, 400]).toContain(status);
    }
  },
);

test('a form whose connection is lost gets 400, and changes nothing', async () => {
  const { organization, base, api, headers } = await makeSettings();
  const body = new ReadableStream({ pull: (controller) => controller.error(new Error('Network connection lost.')) });
  const response = await api.send(`${base}/revoke-all`, { method: 'POST', headers, body });
  expect(response.status).toBe(400);
  expect(await rowsOf('audit_log', organization)).toEqual([]);
});
