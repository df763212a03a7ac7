import { Hono } from 'hono';
import type { ZodOpenApiOperationObject } from 'zod-openapi';
import { type PingResponse, pingResponse } from '../../domain/principal.ts';
import { SCOPE_IDS } from '../../domain/scopes.ts';
import type { AppEnv } from '../context.ts';
import { guard } from '../middleware/guard.ts';
import { KEY_PROBLEMS } from './operation.ts';
import { problemResponses, successHeaders, unauthorizedResponse } from './responses.ts';

/** GET /ping: returns whose key this is. No side effects. */
export const ping = new Hono<AppEnv>().get('/ping', ...guard(), (c) => {
  const { organizationId, keyName, scopes } = c.get('principal');
  const body: PingResponse = { ok: true, organizationId, keyName, scopes: [...scopes] };
  return c.json(body);
});

export const pingOperation: ZodOpenApiOperationObject = {
  operationId: 'ping',
  tags: ['Check'],
  summary: 'Check that the key works',
  description: 'Requires no scope and changes nothing.',
  responses: {
    200: {
      description: 'The key works. The body shows whose key it is.',
      headers: successHeaders,
      content: {
        'application/json': {
          schema: pingResponse.meta({ id: 'Ping' }),
          example: { ok: true, organizationId: 'northwind', keyName: 'n8n: triage', scopes: SCOPE_IDS },
        },
      },
    },
    401: unauthorizedResponse,
    ...problemResponses([...KEY_PROBLEMS, 'method_not_allowed']),
  },
};
