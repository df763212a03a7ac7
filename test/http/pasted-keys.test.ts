import { describe, expect, test } from 'vitest';
import { loggedLines } from '../support/searched-logs.ts';
import { makeApi, makeKey, makeOrganization, rowsOf, TIME } from '../support/world.ts';

async function world() {
  const organization = await makeOrganization();
  const { value: key } = await makeKey(organization);
  return { organization, key, api: makeApi() };
}

// test/domain/pasted-keys.test.ts has the forms in which a key is found. Here are the places.
describe('a key pasted where it does not belong', () => {
  test('a key in the Idempotency-Key is refused, and stored nowhere', async () => {
    const { organization, key, api } = await world();
    for (const value of [key, `triage:${key.replace('_', '%5F')}`]) {
      const headers = { 'Idempotency-Key': value };
      for (const response of [await api.postNote(key, undefined, headers), await api.postTime(key, TIME, headers)]) {
        expect(response.status).toBe(400);
        expect(await response.json()).toMatchObject({
          code: 'invalid_idempotency_key',
          detail:
            'Idempotency-Key contains an API key; send a value that identifies the event, and the API key only in Authorization.',
        });
      }
    }
    expect(await rowsOf('notes', organization)).toEqual([]);
    expect(await rowsOf('time_entries', organization)).toEqual([]);
    expect(JSON.stringify(await rowsOf('audit_log', organization))).not.toContain(key.slice(4, 16));
  });

  test('a key in the User-Agent reaches neither log nor audit row, whole or truncated', async () => {
    const { organization, key, api } = await world();
    for (const misuse of [key, key.replace('_', '%5F')]) {
      for (const userAgent of [`flow ${misuse}!`, `${'x'.repeat(60)} ${misuse}`]) {
        loggedLines('request');
        expect((await api.postNote(key, undefined, { 'User-Agent': userAgent })).status).toBe(201);
        const [line] = loggedLines('request');
        const stored = (await rowsOf('audit_log', organization)).at(-1)?.['user_agent'];
        expect(stored).toBe(line?.['userAgent']);
        expect(stored).toContain('[removed]');
        const secret = key.slice(4);
        for (let from = 0; from + 12 <= secret.length; from++)
          expect(stored).not.toContain(secret.slice(from, from + 12));
      }
    }
  });

  test('a key in the path, the body or another header is not repeated in the response', async () => {
    const { key, api } = await world();
    const answers = [
      await api.postNote(key, undefined, {}, key),
      await api.postTime(key, { ...TIME, minutes: key }),
      await api.postNote(key, { message: 'x', [key]: 1 }),
      await api.postNote(key, undefined, { 'Content-Type': key }),
    ];
    for (const response of answers) {
      const text = await response.text();
      expect(text).toContain('_[removed]');
      expect(text.toLowerCase()).not.toContain(key.slice(4, 16).toLowerCase());
    }
    // A pointer repeats up to 200 characters of a field's name.
    for (const name of [key, key.replace('_', '%5F')]) {
      const response = await api.postNote(key, { message: 'x', [name]: 1 });
      const { errors } = await response.json<{ errors: { pointer: string }[] }>();
      expect(errors[0]?.pointer).toContain('[removed]');
      expect(errors[0]?.pointer).not.toContain(name.slice(-46, -20));
    }
  });
});

test.each([`resp_${'0123456789abcdef'.repeat(3)}`, `twb_${crypto.randomUUID()}`, 'twb_invoice20418and20419'])(
  'an id of another service creates a note: %s',
  async (id) => {
    const { key, api } = await world();
    expect((await api.postNote(key, undefined, { 'Idempotency-Key': `triage:${id}` })).status).toBe(201);
  },
);

test('a User-Agent of 64 KiB is stored without its keys, like a short one', async () => {
  const { organization, key, api } = await world();
  await api.postNote(key, undefined, { 'User-Agent': `${key} ${'y'.repeat(65_536)}` });
  expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({
    user_agent: `twb_[removed] ${'y'.repeat(86)}`,
  });
});
