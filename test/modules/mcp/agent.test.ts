import { expect, test } from 'vitest';
import { makeWorld, rowsOf, UNLIMITED } from '../../support/world.ts';
import { connect, ERAS, makeMcpApi, NOTE_ARGUMENTS, resultOf, TIME_ARGUMENTS } from './support.ts';

// A script in the place of an agent, because no model is available to the tests: it does what agents
// do after a timeout, which is to send the call again, in other words, in another session, at once.

test('an agent that times out, rewords and resends a call 100 times creates one record', async () => {
  const { organization, key } = await makeWorld();
  const isolates = [0, 1, 2].map(() => makeMcpApi({ config: UNLIMITED }));
  const api = (attempt: number) => isolates[attempt % isolates.length] ?? makeMcpApi();
  const ids = new Set<unknown>();
  let written = 0;
  for (let burst = 0; burst < 10; burst++) {
    const calls = Array.from({ length: 10 }, async (_, number) => {
      const attempt = burst * 10 + number;
      const args = {
        ...NOTE_ARGUMENTS,
        message: number % 2 ? `Restarted it, attempt ${attempt}` : NOTE_ARGUMENTS.message,
      };
      const call = resultOf(api(attempt), key, 'add_internal_note', args);
      // The agent has given up: the call runs, and its result is not read.
      if (number % 3 === 0) return await call.then(() => undefined);
      return await call;
    });
    for (const result of await Promise.all(calls)) {
      if (!result) continue;
      expect(result.isError).toBeUndefined();
      ids.add(result.structuredContent['id']);
      written += result.structuredContent['idempotentReplay'] === false ? 1 : 0;
    }
  }
  expect(written).toBeLessThanOrEqual(1);
  const rows = await rowsOf('notes', organization);
  expect(rows.map(({ id }) => id)).toEqual([...ids]);
  expect((await rowsOf('audit_log', organization)).filter(({ action }) => action === 'note.created')).toHaveLength(1);
});

test.each(ERAS)(
  'an agent whose official client of %s never gets a response in time creates one record',
  async (era) => {
    const { organization, key } = await makeWorld();
    for (let session = 0; session < 5; session++) {
      const api = makeMcpApi({ config: UNLIMITED });
      const timedOut = Promise.withResolvers<void>();
      const late = async (response: Promise<Response>) => {
        const [answer] = await Promise.all([response, timedOut.promise]);
        return answer;
      };
      let isConnected = false;
      const send: typeof api.send = (path, init) => {
        const response = api.send(path, init);
        return isConnected ? late(response) : response;
      };
      const client = await connect({ ...api, send }, key, era);
      isConnected = true;
      const call = { name: 'log_time', arguments: { ...TIME_ARGUMENTS, minutes: 30 + session } };
      await expect(client.callTool(call, { timeout: 1 })).rejects.toThrow();
      timedOut.resolve();
      await api.settled();
      await client.close();
    }
    const result = await resultOf(makeMcpApi(), key, 'log_time', TIME_ARGUMENTS);
    expect(result.structuredContent).toMatchObject({ idempotentReplay: true });
    expect(await rowsOf('time_entries', organization)).toHaveLength(1);
  },
);
