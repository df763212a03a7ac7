import { describe, expect, test } from 'vitest';
import { makeApi, makeKey, makeOrganization } from '../support/world.ts';

const BODY = '{"message":"Straße 🖨"}';

/** The text in units of 2 or 4 bytes. */
function encode(text: string, unit: 2 | 4, littleEndian: boolean): Uint8Array {
  const units =
    unit === 2
      ? Array.from({ length: text.length }, (_, i) => text.charCodeAt(i))
      : Array.from(text, (c) => c.codePointAt(0) ?? 0);
  const view = new DataView(new ArrayBuffer(units.length * unit));
  for (const [i, value] of units.entries()) {
    if (unit === 2) view.setUint16(i * 2, value, littleEndian);
    else view.setUint32(i * 4, value, littleEndian);
  }
  return new Uint8Array(view.buffer);
}

const organization = await makeOrganization();
const { value: key } = await makeKey(organization);
const api = makeApi();
const post = async (body: Uint8Array | string) => {
  const response = await api.postNote(key, body);
  const { code, detail } = await response.json<{ code?: string; detail?: string }>();
  return { status: response.status, code, detail };
};

describe.each([
  ['UTF-16LE', 2, true, 'UTF-16 ("Unicode" in Windows)'],
  ['UTF-16BE', 2, false, 'UTF-16 ("Unicode" in Windows)'],
  ['UTF-32LE', 4, true, 'UTF-32'],
  ['UTF-32BE', 4, false, 'UTF-32'],
] as const)('a body in %s', (_, unit, littleEndian, name) => {
  test.each([
    ['without a byte order mark', BODY],
    ['with one', `\uFEFF${BODY}`],
    ['that begins with a line break', `\r\n${BODY}`],
    ['as short as can be', '{}'],
  ])("the response mentions the body's encoding: %s", async (_, text) => {
    expect(await post(encode(text, unit, littleEndian))).toEqual({
      status: 400,
      code: 'invalid_encoding',
      detail: `The body is ${name}; encode the JSON text as UTF-8 before you send it.`,
    });
  });
});

test.each([
  ['a NUL first', '\0{"message":"x"}', 'malformed_json'],
  ['a NUL second', '{\0"message":"x"}', 'malformed_json'],
  ['NULs alone', '\0\0\0\0', 'malformed_json'],
  ['a NUL at the end of a short body', '{}\0', 'malformed_json'],
  ['nothing', '', 'malformed_json'],
  ['one byte', '1', 'validation_failed'],
])('a body with %s is not reported as UTF-16', async (_, body, code) => {
  expect(await post(body)).toMatchObject({ code });
});
