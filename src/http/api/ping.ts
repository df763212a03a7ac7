import { Hono } from 'hono';
import type { PingAnswer } from '../../domain/principal.ts';
import type { AppEnv } from '../../env.ts';
import { guard } from '../guard.ts';

/** GET /ping: says whose key this is. No side effects. */
export const ping = new Hono<AppEnv>().get('/ping', ...guard(), (c) => {
  const { organizationId, keyName, scopes } = c.get('principal');
  const answer: PingAnswer = { ok: true, organizationId, keyName, scopes: [...scopes] };
  return c.json(answer);
});
