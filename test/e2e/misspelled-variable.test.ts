import { expect, test, vi } from 'vitest';
import { serveProduction } from '../support/production-worker.ts';
import { productionBundle } from '../support/shared.ts';

test('the Worker warns once of a variable whose name looks like a typing error, and of no other unknown variable', async () => {
  const warn = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const vars = { BLOCKED_KEY: 'twb_0000…zzzz', GREETING: 'hello' };
  const worker = await serveProduction({ bundle: await productionBundle(), port: 0, vars });
  try {
    for (let request = 1; request <= 2; request++) await worker.dispatchFetch('http://localhost/healthz');
    await vi.waitFor(() => expect(warn).toHaveBeenCalled(), { timeout: 10_000 });
    expect(warn.mock.calls).toEqual([['{"event":"unknown_variable","name":"BLOCKED_KEY","nearest":"BLOCKED_KEYS"}']]);
  } finally {
    await worker.dispose();
    warn.mockRestore();
  }
});
