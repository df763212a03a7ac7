import * as z from 'zod';
import { Failure, type Finding, type Prober } from './probe.ts';
import { bodyOf, isOurs, whoAnswered } from './responses.ts';

const MESSAGE = 'Written by "ops doctor" to check this deployment.';

const pingShape = z.object({ organizationId: z.string(), scopes: z.array(z.string()) });
const noteShape = z.object({ note: z.object({ id: z.string() }) });

/** A message as AI agents send it. */
export const listTools = (authorization: Record<string, string> = {}) => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...authorization },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
});

/** Sends one ping, one list of tools and, on `ticket`, one note. */
export async function* diagnoseKey(
  { ask, check }: Prober,
  key: string,
  ticket: string | undefined,
): AsyncGenerator<Finding> {
  const authorization = { Authorization: `Bearer ${key}` };
  const pinged = await check('ping', async () => {
    const given = await ask('/api/v1/ping', { headers: authorization });
    if (given.status === 401)
      throw new Failure(
        '401: the key is unknown here, revoked, expired, blocked or not for this network, or its organization is inactive. If the log of the request has the reason "missing", a rule of the zone or a proxy strips the Authorization header.',
      );
    const { organizationId, scopes } = bodyOf(given, pingShape);
    if (ticket !== undefined && !scopes.includes('tickets:note:write'))
      throw new Failure('the key lacks the scope tickets:note:write, which the note needs. Take another key.');
    const expires = given.headers.get('api-key-expires-at');
    return `200, organization ${organizationId}, ${scopes.join(' and ')}${expires === null ? '' : `, until ${expires}`}, ${given.ms} ms`;
  });
  yield pinged;
  if (!pinged.ok) return;
  yield await check('/mcp with the key', async () => {
    const given = await ask('/mcp', listTools(authorization));
    if (given.status === 404 && isOurs(given)) return 'not deployed';
    if (given.status === 200) return 'accepted, as by the API';
    throw new Failure(
      `${whoAnswered(given)} The API accepts the key: the Worker for AI agents belongs to another deployment, or does not pass on the address of its callers, to which the key is limited. Run npm run deploy.`,
    );
  });
  if (ticket === undefined) return;
  yield await check('note', async () => {
    const idempotencyKey = `doctor:${crypto.randomUUID()}`;
    const given = await ask(`/api/v1/tickets/${encodeURIComponent(ticket)}/notes`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...authorization, 'Idempotency-Key': idempotencyKey },
      body: JSON.stringify({ message: MESSAGE }),
    });
    const { id } = bodyOf(given, noteShape, 201).note;
    return `201, wrote the note ${id} on ticket ${ticket}, Idempotency-Key ${idempotencyKey}, ${given.ms} ms`;
  });
}
