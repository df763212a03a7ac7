import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { type AppEnv, writeContext } from '../../../src/http/hono-env.ts';
import { guard } from '../../../src/http/middleware/guard.ts';

test('a route without the guard does not compile, and fails', async () => {
  const app = new Hono<AppEnv>()
    .get('/guarded', ...guard(), (c) => c.json(writeContext(c).actor.keyName))
    // @ts-expect-error No key was checked, so there is no actor.
    .get('/open', (c) => c.json(writeContext(c).actor.keyName))
    .onError((err, c) => c.text(err.name, 500));
  expect((await app.request('/open')).status).toBe(500);
});
