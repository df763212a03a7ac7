import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { bundleProduction, serveProduction } from '../support/production-worker.ts';

test('the Worker warns once of a variable whose name looks like a typing error, and of no other that it does not know', async () => {
  const warn = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const bundle = await mkdtemp(join(tmpdir(), 'misspelled-'));
  try {
    await bundleProduction(bundle);
    const worker = await serveProduction({
      bundle,
      port: 0,
      vars: { BLOCKED_KEY: 'twb_0000…zzzz', GREETING: 'hello' },
    });
    try {
      for (let request = 1; request <= 2; request++) await worker.dispatchFetch('http://localhost/healthz');
      await vi.waitFor(() => expect(warn).toHaveBeenCalled());
      expect(warn.mock.calls).toEqual([['{"event":"unknown_variable","name":"BLOCKED_KEY","nearest":"BLOCKED_KEYS"}']]);
    } finally {
      await worker.dispose();
    }
  } finally {
    warn.mockRestore();
    await rm(bundle, { recursive: true });
  }
});
