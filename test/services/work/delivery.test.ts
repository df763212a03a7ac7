import { describe, expect, test } from 'vitest';
import { lastCursor, resultOf, work } from '../../support/rpc.ts';
import { makeKey, makeWorld, rotate, rowsOf, TIME } from '../../support/world.ts';

// Whether the PSA has a record, in the replay of its write. test/modules/push tests it with a
// receiver.

const release = async (organization: string) =>
  resultOf(await work.release(organization, (await lastCursor(organization)) ?? ''));

const KINDS = [
  { kind: 'note', path: 'notes', body: { message: 'Done' }, other: { message: 'Done again' } },
  { kind: 'time_entry', path: 'time-entries', body: TIME, other: { ...TIME, minutes: 31 } },
] as const;

interface Sent {
  by?: string | undefined;
  sent?: object;
  ticket?: string;
  headers?: Record<string, string>;
  event?: string;
}

describe.each(KINDS)('the delivery in a replay of a $kind', ({ kind, path, body, other }) => {
  /** An organization, and how its app answers a request. */
  async function makeWriter() {
    const { organization, key, keyId, api } = await makeWorld();
    const send = async ({ by = key, sent = body, ticket = '1001', headers = {}, event = 'k' }: Sent = {}) => {
      const sentHeaders = { 'Idempotency-Key': event, ...headers };
      const response = await api.post(`/api/v1/tickets/${ticket}/${path}`, by, sent, sentHeaders);
      return { status: response.status, text: await response.clone().text(), ...(await response.json<object>()) };
    };
    const report = async (result: 'refused' | 'taken') => {
      const [, id = ''] = /"id":"([^"]+)"/.exec((await send()).text) ?? [];
      const reason = result === 'refused' ? 'The ticket is closed' : undefined;
      resultOf(await work.report(organization, kind, id, result, reason));
    };
    return { organization, keyId, send, report };
  }

  test('follows the record: stored, handed over once it is released, refused without the reason, and taken', async () => {
    const { organization, send, report } = await makeWriter();
    await release(organization);
    expect(await send()).not.toHaveProperty('delivery');
    expect(await send()).toMatchObject({ status: 200, delivery: { state: 'stored' } });
    await release(organization);
    expect(await send()).toMatchObject({ delivery: { state: 'handed_over' } });
    await report('refused');
    const [refusal] = await rowsOf('psa_refusals', organization);
    const refusedAt = new Date(Number(refusal?.['refused_at'])).toISOString();
    const refused = await send();
    expect(refused).toMatchObject({ delivery: { state: 'refused', refusedAt } });
    expect(refused.text).not.toContain('closed');
    await report('taken');
    expect(await send()).toMatchObject({ delivery: { state: 'handed_over' } });
  });

  test('is left out while nothing is pushed and nothing was released, even after a refusal', async () => {
    const { send, report } = await makeWriter();
    await send();
    expect(await send()).not.toHaveProperty('delivery');
    await report('refused');
    expect(await send()).not.toHaveProperty('delivery');
  });

  test('is for the keys of the rotation chain that wrote the record, and for no other key', async () => {
    const { organization, keyId, send } = await makeWriter();
    await release(organization);
    const successor = await rotate(organization, keyId, { grace: '24h' });
    const stranger = await makeKey(organization);
    expect(await send({ by: successor.value })).toMatchObject({ status: 201 });
    for (const by of [undefined, successor.value])
      expect(await send({ by })).toMatchObject({ status: 200, delivery: { state: 'stored' } });
    expect(await send({ by: stranger.value })).toMatchObject({ status: 200, idempotentReplay: true });
    expect(await send({ by: stranger.value })).not.toHaveProperty('delivery');
  });

  test('is in a replay that does not match, and not in its strict error', async () => {
    const { organization, send } = await makeWriter();
    await release(organization);
    await send();
    expect(await send({ sent: other })).toMatchObject({ idempotencyMismatch: true, delivery: { state: 'stored' } });
    const strict = await send({ sent: other, headers: { Prefer: 'handling=strict' } });
    expect(strict).toMatchObject({ status: 409 });
    expect(strict.text).not.toContain('delivery');
  });
});
