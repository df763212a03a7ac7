import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { untilReady } from '../../src/dev/until-ready.ts';
import { listen } from '../support/listen.ts';

const STALLED_AFTER_MS = 500;

test('the start waits for a slow server as long as it prints something, and no longer', async () => {
  let requests = 0;
  const server = createServer((_, response) => response.writeHead(++requests < 8 ? 503 : 204).end());
  onTestFinished(() => void server.close());
  const url = await listen(server);
  expect(await untilReady(url, Date.now, STALLED_AFTER_MS)).toBe('ready');
  requests = 0;
  const heardAt = Date.now();
  expect(await untilReady(url, () => heardAt, STALLED_AFTER_MS)).toBe('stalled');
});
