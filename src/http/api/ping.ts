import { Hono } from 'hono';
import type { PingResponse } from '../../domain/response-shapes.ts';
import type { AppEnv } from '../hono-env.ts';
import { guard } from '../middleware/guard.ts';

/** GET /ping: returns whose key this is. No side effects. */
export const ping = new Hono<AppEnv>().get('/ping', ...guard(), (c) => {
  const { organizationId, keyName, scopes } = c.get('principal');
  const body: PingResponse = { ok: true, organizationId, keyName, scopes: [...scopes] };
  return c.json(body);
});
