import * as z from 'zod';
import type { Config } from '../config.ts';
import { Failure, type Finding, jsonOf, type ProbeResponse, type Prober } from './probe.ts';
import { bodyOf } from './responses.ts';

export interface KeyChecks {
  key: string;
  /** The ticket that gets one note. */
  ticket: string | undefined;
  expected: Pick<Config, 'keyPrefix' | 'keyLimit'> | undefined;
}

const MESSAGE = 'Written by "ops doctor" to check this deployment.';

const pingShape = z.object({ organizationId: z.string(), scopes: z.array(z.string()) });
const noteShape = z.object({
  note: z.object({ id: z.string() }),
  idempotentReplay: z.boolean().optional(),
});
const toolShape = z.object({
  result: z.object({ structuredContent: z.looseObject({ id: z.string().optional(), code: z.string().optional() }) }),
});

/** Writes one note if there is a `ticket`. Returns the organization of the key, if the key is accepted. */
export async function* diagnoseKey(
  { ask, check }: Prober,
  { key, ticket, expected }: KeyChecks,
  hasAgents: boolean,
): AsyncGenerator<Finding, string | undefined> {
  const authorization = { Authorization: `Bearer ${key}` };
  const ping = () => ask('/api/v1/ping', { headers: authorization });
  let first: ProbeResponse | undefined;
  let organization: string | undefined;
  const pinged = await check('ping', async () => {
    const prefix = key.slice(0, key.indexOf('_'));
    if (expected && prefix !== expected.keyPrefix)
      throw new Failure(
        `the key begins with ${prefix}, and KEY_PREFIX is ${expected.keyPrefix}: it is a key of another deployment.`,
      );
    first = await ping();
    if (first.status === 401)
      throw new Failure(
        '401: the key is unknown here, revoked, expired, blocked or not for this network, or its organization is inactive. If the log of the request has the reason "missing", a rule of the zone or a proxy strips the Authorization header.',
      );
    const { organizationId, scopes } = bodyOf(first, pingShape);
    if (ticket !== undefined && !scopes.includes('tickets:note:write'))
      throw new Failure('the key lacks the scope tickets:note:write, which the next checks need. Take another key.');
    organization = organizationId;
    const expires = first.headers.get('api-key-expires-at');
    return `200, organization ${organizationId}, ${scopes.join(' and ')}${expires === null ? '' : `, until ${expires}`}, ${first.ms} ms`;
  });
  yield pinged;
  if (!first) return undefined;
  const before = first;
  if (hasAgents)
    yield await check('/mcp with the key', async () => {
      const { status } = await ask('/mcp', agentMessage('tools/list', authorization));
      if ((before.status === 401) === (status === 401)) return 'the key gets the same answer as from the API';
      throw new Failure(
        `the key gets ${status} here and ${before.status} from the API. If it was revoked just now, try again; otherwise the two Workers have different values of BLOCKED_KEYS or KEY_PREFIX, or different databases. For BLOCKED_KEYS: npm run ops -- switch BLOCKED_KEYS LIST`,
      );
    });
  if (!pinged.ok) return undefined;
  yield await check('ping again', async () => {
    const again = await ping();
    const id = ({ headers }: ProbeResponse) => headers.get('x-request-id');
    if (id(before) === id(again) || again.headers.has('age') || again.headers.get('cf-cache-status') === 'HIT')
      throw new Failure(
        'a cache in front of the service answers: the response is one from before. Exclude /api/* from caching.',
      );
    if (again.headers.get('cache-control')?.includes('no-store')) return `comes from the service, ${again.ms} ms`;
    throw new Failure(
      'cache-control lacks no-store. A proxy or a transform rule changes headers; exclude /api/* from it.',
    );
  });
  if (expected)
    yield await check('limits', async () => {
      const { quota, windowMs } = expected.keyLimit;
      const policy = before.headers.get('ratelimit-policy') ?? '';
      const [, served, seconds] = /"key";q=(\d+);w=(\d+)/.exec(policy) ?? [];
      const [actual, configured] = [`${served}/${seconds}s`, `${quota}/${windowMs / 1000}s`];
      if (actual === configured) return `KEY_LIMIT is ${configured}`;
      throw new Failure(
        `the limit of the key is ${served === undefined ? 'not shown' : actual}, and KEY_LIMIT ${configured}: the deployment has other limits than this file. Deploy again.`,
      );
    });
  if (ticket !== undefined) yield* diagnoseWrites({ ask, check }, authorization, ticket, hasAgents);
  return organization;
}

/** A message as AI agents send it. */
export const agentMessage = (method: string, headers: Record<string, string> = {}, params?: object): RequestInit => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
});

/** A note, and its replay through both Workers. */
async function* diagnoseWrites(
  { ask, check }: Prober,
  authorization: Record<string, string>,
  ticket: string,
  hasAgents: boolean,
): AsyncGenerator<Finding> {
  const idempotencyKey = `doctor:${crypto.randomUUID()}`;
  const write = () =>
    ask(`/api/v1/tickets/${encodeURIComponent(ticket)}/notes`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...authorization, 'Idempotency-Key': idempotencyKey },
      body: JSON.stringify({ message: MESSAGE }),
    });
  let id = '';
  yield await check('note', async () => {
    const given = await write();
    id = bodyOf(given, noteShape, 201).note.id;
    return `201, wrote the note ${id} on ticket ${ticket}, Idempotency-Key ${idempotencyKey}, ${given.ms} ms`;
  });
  if (id === '') return;
  yield await check('replay', async () => {
    const given = await write();
    const replayed = bodyOf(given, noteShape);
    if (replayed.note.id === id && replayed.idempotentReplay) return `200, the same note, ${given.ms} ms`;
    throw new Failure(`the same request was not a replay of the note ${id}, but ${given.body.slice(0, 200)}`);
  });
  if (!hasAgents) return;
  yield await check('a note over /mcp', async () => {
    const args = { ticketId: ticket, message: MESSAGE, idempotencyKey };
    const call = agentMessage('tools/call', authorization, { name: 'add_internal_note', arguments: args });
    const given = await ask('/mcp', call);
    const found = toolShape.safeParse(jsonOf(given.body)).data?.result.structuredContent;
    if (found?.id === id) return 'the same Idempotency-Key gets the same note';
    throw new Failure(
      `the Worker for AI agents does not find the note ${id} (${given.status}${found?.code === undefined ? '' : `, ${found.code}`}): it is of an older release, its database fails, or it has another schema or is another one. Deploy both Workers together: npm run deploy`,
    );
  });
}
