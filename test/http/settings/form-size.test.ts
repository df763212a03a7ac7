import { env } from 'cloudflare:workers';
import { afterEach, expect, test, vi } from 'vitest';
import { countD1 } from '../../support/d1.ts';
import { elementsOf } from '../../support/page.ts';
import { makeSettings, NEW_KEY } from '../../support/settings.ts';
import { makeKey } from '../../support/world.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Counts the characters of all texts that are read by code point while the test runs. */
function countCharacters(): () => number {
  let characters = 0;
  const iterate = String.prototype[Symbol.iterator];
  vi.spyOn(String.prototype, Symbol.iterator).mockImplementation(function (this: string) {
    characters += this.length;
    return iterate.call(this);
  });
  return () => characters;
}

test('half a megabyte in any field of any form is not examined', async () => {
  const { db, calls } = countD1(env.DB);
  const { organization, base, get, post } = await makeSettings({ bindings: { DB: db } });
  const { id } = await makeKey(organization);
  for (let number = 1; number < 10; number += 1) await makeKey(organization, { name: `Key ${number}` });
  const pages = ['new-key', ...['change', 'rotate', 'revoke'].map((page) => `keys/${id}/${page}`), 'key-rules'];
  const found: string[] = [];
  const huge = 'a '.repeat(250_000);
  for (const page of [...pages, `revoke-keys?key=${id}`, 'revoke-all', 'which-key']) {
    const { text } = await get(`/${page}`);
    for (const { attributes } of await elementsOf(text, 'form[method=post]')) {
      const { action } = attributes;
      const path = action?.slice(base.length) ?? `/${page}`;
      const scope = action === undefined ? '' : `[action="${action}"]`;
      const controls = await elementsOf(text, `form[method=post]${scope} [name]`);
      for (const name of new Set(controls.map((control) => control.attributes['name'] ?? ''))) {
        found.push(`${path} ${name}`);
        calls.length = 0;
        const characters = countCharacters();
        const { status } = await post(path, { ...NEW_KEY, [name]: huge });
        expect([path, name, status, calls]).toEqual([path, name, 413, []]);
        expect(characters()).toBeLessThan(100_000);
        vi.restoreAllMocks();
      }
    }
  }
  expect(found.length).toBeGreaterThan(25);
});

test.each(['/revoke-keys', '/which-key', '/revoke-all'])(
  '%s refuses a form with more than 2,000 fields',
  async (path) => {
    const { post } = await makeSettings();
    expect((await post(path, 'a=&'.repeat(2_001))).status).toBe(413);
  },
);
