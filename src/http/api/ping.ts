import { Hono } from 'hono';
import type { AppEnv } from '../../env.ts';
import { guard } from '../guard.ts';

/** GET /ping: says whose key this is. No side effects. */
export const ping = new Hono<AppEnv>().get('/ping', ...guard(), (c) => {
  const { organizationId, keyName, scopes } = c.var.principal;
  return c.json({ ok: true, organizationId, keyName, scopes });
});
