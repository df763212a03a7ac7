import { env } from 'cloudflare:workers';
import { expect, test, vi } from 'vitest';
import { tickets } from '../../src/db/schema/directory.ts';
import { log } from '../../src/lib/log.ts';
import { query } from '../../src/services/call-d1.ts';

test('the values of a failed query do not decide about a retry, and are not logged', async () => {
  // A space violates the check of the id, and the words are those of an error that is retried.
  const id = 'Network connection lost';
  let attempts = 0;
  const failure: unknown = await query({ db: env.DB, deadlineAt: Date.now() + 10_000 }, 'may_have_written', (db) => {
    attempts += 1;
    return db.insert(tickets).values({ organizationId: 'northwind', id, companyId: 'acme', active: 1 });
  }).catch((err: unknown) => err);
  expect(failure).toMatchObject({ name: 'D1Failure', kind: 'rejected', reason: 'CHECK constraint failed' });
  expect(attempts).toBe(1);

  const errors = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  log('error', 'internal_error', { cause: failure });
  const lines = errors.mock.calls.map(([line]) => String(line));
  vi.restoreAllMocks();
  expect(lines).toEqual([expect.stringContaining('D1Failure: D1 rejected: CHECK constraint failed')]);
  expect(lines.join()).not.toContain(id);
});
