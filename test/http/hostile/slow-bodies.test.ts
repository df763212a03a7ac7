import { afterEach, describe, expect, test, vi } from 'vitest';
import { makeApi, makeKey, makeWorld, problemOf, revoke, rowsOf, UNLIMITED } from '../../support/world.ts';

describe('a body', async () => {
  const { organization, key } = await makeWorld();
  const api = makeApi({ config: UNLIMITED });
  const pieces = ['{"message":', '"slow"}'].map((piece) => new TextEncoder().encode(piece));
  const post = (body: ReadableStream, by = key) =>
    api.send('/api/v1/tickets/1001/notes', {
      method: 'POST',
      key: by,
      body,
      headers: { 'Content-Type': 'application/json' },
    });
  /** A body whose first piece has been sent; `rest` does what comes then. */
  const begun = (rest: (controller: ReadableStreamDefaultController) => void | Promise<void>) => {
    let pulls = 0;
    return new ReadableStream({
      pull: (controller) => {
        pulls += 1;
        return pulls === 1 ? controller.enqueue(pieces[0]) : rest(controller);
      },
    });
  };

  afterEach(() => {
    vi.useRealTimers();
  });

  test('a body that breaks off gets 400, writes nothing, and is not logged as an error', async () => {
    const logged = vi.spyOn(console, 'error');
    const response = await post(begun((controller) => controller.error(new Error('Network connection lost.'))));
    expect(await problemOf(response)).toBe('400 malformed_json');
    expect(await rowsOf('notes', organization)).toEqual([]);
    expect(logged).not.toHaveBeenCalled();
    logged.mockRestore();
  });

  test('a body that does not end is refused after 20 s', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
    const waiting = Promise.withResolvers<void>();
    const endless = begun(() => {
      waiting.resolve();
      return new Promise(() => undefined);
    });
    const answer = post(endless);
    await waiting.promise;
    await vi.advanceTimersByTimeAsync(20_000);
    const response = await answer;
    expect(await problemOf(response.clone())).toBe('400 malformed_json');
    expect(await response.json()).toMatchObject({ detail: expect.stringContaining('20 s') });
    expect(await rowsOf('notes', organization)).toEqual([]);
  });

  test("a body may take longer than a request's deadline", async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const slow = begun((controller) => {
      vi.setSystemTime(Date.now() + 15_000);
      controller.enqueue(pieces[1]);
      controller.close();
    });
    expect((await post(slow)).status).toBe(201);
    expect(await rowsOf('notes', organization)).toMatchObject([{ message: 'slow' }]);
  });

  test('a slow body that breaks off gets 400, even if a cached key has to be confirmed', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const broken = begun((controller) => {
      vi.setSystemTime(Date.now() + 15_000);
      controller.error(new Error('gone'));
    });
    expect(await problemOf(post(broken))).toBe('400 malformed_json');
  });

  test.each(['read from D1', 'cached'])(
    'a body that arrives after the revocation gets 401 if its key was %s',
    async (how) => {
      for (const rest of ['"a"}', '""}', 'a']) {
        const doomed = await makeKey(organization);
        if (how === 'cached') expect((await api.postNote(doomed.value)).status).toBe(201);
        const body = begun(async (controller) => {
          await revoke(organization, doomed.id);
          controller.enqueue(new TextEncoder().encode(rest));
          controller.close();
        });
        expect((await post(body, doomed.value)).status).toBe(401);
      }
    },
  );
});
