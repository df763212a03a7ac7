import { glob, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

test('every property test has a number of runs that PROPERTY_RUNS multiplies', async () => {
  for await (const path of glob('test/**/*.test.{ts,tsx}')) {
    const text = await readFile(path, 'utf8');
    expect([path, text.split('numRuns: runs(').length]).toEqual([
      path,
      text.replaceAll('fc.check', 'fc.assert').split('fc.assert(').length,
    ]);
  }
});
