import { expect, test } from 'vitest';
import * as z from 'zod';
import { keyPattern } from '../../src/docs/key-format.ts';
import keys from '../../src/docs/pages/keys.md?raw';
import { generateKey } from '../../src/domain/api-key.ts';
import { codesOfPage } from '../support/recipes.ts';

test('the published pattern finds keys in a text, and the published checksum rejects texts that only look like one', async () => {
  const [example] = codesOfPage(keys, '')[0]?.versions ?? [];
  const scanner: unknown = await import(`data:text/javascript,${encodeURIComponent(example?.text ?? '')}`);
  const { isKey } = z.object({ isKey: z.function({ input: [z.string()], output: z.boolean() }) }).parse(scanner);
  for (let i = 0; i < 100; i++) {
    const key = generateKey('twb');
    expect(`token: ${key};`.match(new RegExp(keyPattern({ keyPrefix: 'twb' }), 'g'))).toEqual([key]);
    expect(isKey(key)).toBe(true);
    expect(isKey(key.replace(/.$/, (last) => (last === '0' ? '1' : '0')))).toBe(false);
  }
});
