import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inLongRuns, runs } from '../../support/property.ts';
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

test('any mix of tools, tickets and words under few keys creates one record for each tool and key', async () => {
  const step = fc.record({
    tool: fc.constantFrom('add_internal_note', 'log_time'),
    idempotencyKey: fc.constantFrom('a', 'b', 'c'),
    ticketId: fc.constantFrom('1001', '1002', '9999'),
    words: fc.constantFrom('x', 'y'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 12 }), async (steps) => {
      const { organization, key } = await makeWorld();
      const api = makeMcpApi({ config: UNLIMITED });
      const tickets = new Map<string, string>();
      for (const { tool, words, ...target } of steps) {
        const body = tool === 'log_time' ? { minutes: 5, description: words, billable: false } : { message: words };
        const result = await resultOf(api, key, tool, { ...target, ...body });
        const slot = `${tool} ${target.idempotencyKey}`;
        const known = tickets.get(slot);
        if (known === undefined && target.ticketId !== '9999') tickets.set(slot, target.ticketId);
        // An error exactly if no record for this ticket is there now.
        expect(result.isError === true).toBe(
          (known ?? target.ticketId) !== target.ticketId || target.ticketId === '9999',
        );
      }
      const rows = [...(await rowsOf('notes', organization)), ...(await rowsOf('time_entries', organization))];
      expect(rows.map((row) => row['ticket_id']).sort()).toEqual([...tickets.values()].sort());
    }),
    { numRuns: runs('calls of tools under few keys', inLongRuns(8, 4)) },
  );
});
