import { runDurableObjectAlarm } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { skipPush } from '../../../src/services/work/push-control.ts';
import { lastCursor, resultOf, work } from '../../support/rpc.ts';
import { makeApi, TIME } from '../../support/world.ts';
import { resultOf as callTool } from '../mcp/support.ts';
import { answering, asPushOperator, makePushed, PUSH, usePush, waitForRow } from './support.ts';

const push = usePush();
const confirmed = (organization: string, seq: number) => waitForRow(organization, { confirmed_seq: seq });

describe.each([
  { path: 'notes', body: { message: 'Done' }, tool: 'add_internal_note' },
  { path: 'time-entries', body: TIME, tool: 'log_time' },
])('with a receiver, the delivery in a replay of $path', ({ path, body, tool }) => {
  /** An organization whose receiver refuses the pages with these events, and a function that writes one or asks for it. */
  async function makeRefusing(...events: string[]) {
    const pushed = await makePushed();
    push.answers.set(pushed.organization, (receive, init) => {
      const isRefused = events.some((event) => String(init.body).includes(`"idempotencyKey":"${event}"`));
      return answering(isRefused ? 500 : 200)(receive, init);
    });
    const send = async (event: string, api = pushed.api) => {
      const response = await api.post(`/api/v1/tickets/1001/${path}`, pushed.key, body, { 'Idempotency-Key': event });
      return (await response.json<{ delivery?: object }>()).delivery;
    };
    return { ...pushed, send };
  }

  test('is stored until the receiver confirms the page, for a program and for an agent', async () => {
    const { organization, key, quiet, send } = await makeRefusing('k');
    const agents = makeApi({ agents: true, config: { receiver: PUSH } });
    const call = async () => {
      const args = { ticketId: '1001', idempotencyKey: 'k', ...body };
      return (await callTool(agents, key, tool, args)).structuredContent;
    };
    expect(await call()).not.toHaveProperty('delivery');
    expect(await call()).toMatchObject({ delivery: { state: 'stored' } });
    expect(await send('k')).toEqual({ state: 'stored' });
    await waitForRow(organization, { confirmed_seq: 0, attempts: 1 });
    push.answers.delete(organization);
    await runDurableObjectAlarm(env.PUSHER.getByName(organization));
    await confirmed(organization, 2);
    expect(await send('k')).toEqual({ state: 'handed_over' });
    expect(await call()).toMatchObject({ delivery: { state: 'handed_over' } });
    // The receiver was removed, and nothing was released.
    expect(await send('k', quiet)).toBeUndefined();
  });

  test('stays stored for changes that an operator skipped, until the PSA releases them', async () => {
    const { organization, send } = await makeRefusing('a', 'c');
    const skipAll = async () => {
      const to = (await lastCursor(organization)) ?? '';
      expect(await skipPush(asPushOperator(), { organization, to, by: 'Ada' })).toEqual({ status: 'skipped' });
    };
    const ask = () => Promise.all(['a', 'b', 'c', 'd'].map((event) => send(event)));
    await send('a');
    await skipAll();
    await send('b');
    await confirmed(organization, 4);
    await send('c');
    await skipAll();
    await send('d');
    await confirmed(organization, 7);
    const expected = ['stored', 'handed_over', 'stored', 'handed_over'].map((state) => ({ state }));
    expect(await ask()).toEqual(expected);
    // A restore takes the ranges out of the copy; the object still has them.
    await env.DB.prepare("update pushes set skipped = '[]' where organization_id = ?").bind(organization).run();
    await send('e');
    await confirmed(organization, 8);
    expect(await ask()).toEqual(expected);
    resultOf(await work.release(organization, String(await lastCursor(organization))));
    expect(await ask()).toEqual(Array(4).fill({ state: 'handed_over' }));
  });
});
