import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { aroundD1, countD1 } from '../../support/d1.ts';
import { loggedLines } from '../../support/searched-logs.ts';
import { makeApi, makeKey, makeOrganization, revoke } from '../../support/world.ts';

async function makeRevoked() {
  const organization = await makeOrganization();
  const key = await makeKey(organization);
  await revoke(organization, key.id);
  return key;
}

describe('recording a refusal', () => {
  test('costs one call after each response, at most ten a minute, and the same lookup for each request', async () => {
    const key = await makeRevoked();
    const { db, calls } = countD1(env.DB);
    const api = makeApi({ bindings: { DB: db } });
    for (let i = 0; i < 15; i++) await api.postNote(key.value);
    await api.settled();
    expect(calls.filter(({ rowsWritten }) => rowsWritten > 0)).toHaveLength(10);
    expect(calls).toHaveLength(25);
  });

  test('does not change the response when it fails, and the failure is logged', async () => {
    const key = await makeRevoked();
    const db = aroundD1(env.DB, async (run) => {
      const results = await run();
      if (results[0]?.meta.rows_written) throw new Error('lost');
      return results;
    });
    const api = makeApi({ bindings: { DB: db } });
    expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(401);
    await api.settled();
    expect(loggedLines('refusal_not_recorded', 'warn')).toHaveLength(1);
  });
});
