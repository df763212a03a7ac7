import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const MAX_GZIPPED = 150 * 1024;

test('the production bundle stays under 150 KB gzipped, static files aside', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'bundle-'));
  try {
    await promisify(execFile)('wrangler', ['deploy', '--dry-run', '--outdir', directory], {
      env: { ...process.env, WRANGLER_SEND_METRICS: 'false' },
    });
    const scripts = (await readdir(directory)).filter((name) => name.endsWith('.js'));
    const sizes = await Promise.all(scripts.map(async (name) => gzipSync(await readFile(join(directory, name))).length));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    console.log(`production bundle: ${(total / 1024).toFixed(1)} KB gzipped`);
    expect(total).toBeGreaterThan(0);
    expect(total).toBeLessThan(MAX_GZIPPED);
  } finally {
    await rm(directory, { recursive: true });
  }
});
