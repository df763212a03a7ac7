import { describe, expect, test } from 'vitest';
import { redactRecord } from '../../src/services/work/record-services.ts';
import {
  asOperator,
  makeApi,
  makeKey,
  makeOrganization,
  makeWorld,
  problemOf,
  revoke,
  rowsOf,
  seenByProber,
  TIME,
} from '../support/world.ts';

const STRICT = { Prefer: 'handling=strict' };
const strictly = (key: string) => ({ ...STRICT, 'Idempotency-Key': key });
const appliedOf = ({ headers }: Response) => headers.get('Preference-Applied');

const KINDS = [
  { kind: 'note', table: 'notes', path: 'notes', body: { message: 'Done' }, other: { message: 'Done again' } },
  { kind: 'time_entry', table: 'time_entries', path: 'time-entries', body: TIME, other: { ...TIME, minutes: 31 } },
] as const;

describe.each(KINDS)('a strict request for a $kind', ({ kind, table, path, body, other }) => {
  const on = (ticket: string) => `/api/v1/tickets/${ticket}/${path}`;

  test('gets 409 if a different request used its Idempotency-Key, and writes nothing', async () => {
    const { organization, key, api } = await makeWorld();
    const created = await api.post(on('1001'), key, body, strictly('triage:1'));
    const replay = await api.post(on('1001'), key, body, strictly('triage:1'));
    const mismatch = await api.post(on('1001'), key, other, strictly('triage:1'));
    const moved = await api.post(on('1002'), key, body, strictly('triage:1'));
    const unknown = await api.post(on('4711'), key, other, strictly('triage:1'));
    const responses = [created, replay, mismatch, moved, unknown];
    expect(responses.map(({ status }) => status)).toEqual([201, 200, 409, 409, 409]);
    expect(responses.map(appliedOf)).toEqual(Array(5).fill('handling=strict'));
    expect(await replay.json()).toEqual({ ...(await created.json<object>()), idempotentReplay: true });
    const start = 'A different request';
    const end =
      'used this Idempotency-Key before, so nothing was written. Check that it identifies one event, and send another event with its own Idempotency-Key.';
    expect(await mismatch.json()).toEqual({
      type: 'https://api.example/docs/errors#idempotency_mismatch',
      title: 'Idempotency-Key used for a different request',
      status: 409,
      code: 'idempotency_mismatch',
      detail: `${start} ${end}`,
      requestId: mismatch.headers.get('X-Request-Id'),
    });
    for (const response of [moved, unknown])
      expect(await response.json()).toMatchObject({ detail: `${start} on ticket 1001 ${end}` });
    expect(await rowsOf(table, organization)).toHaveLength(1);
  });

  test('gets a redacted record, whose request is not known, as a replay', async () => {
    const { organization, key, api } = await makeWorld();
    const created = await api.post(on('1001'), key, body, strictly('k'));
    const id = /"id":"([^"]+)"/.exec(await created.text())?.[1] ?? '';
    await redactRecord(asOperator(), { organization, kind, id, by: 'Ops' });
    const replay = await api.post(on('1001'), key, other, strictly('k'));
    expect([replay.status, appliedOf(replay), replay.headers.get('Idempotency-Mismatch')]).toEqual([
      200,
      'handling=strict',
      null,
    ]);
  });

  test('has no mark on a response that no write decided, and gets the same 401', async () => {
    const { organization, key, api } = await makeWorld();
    const revoked = await makeKey(organization, { name: 'revoked' });
    await revoke(organization, revoked.id);
    const withoutPsa = await makeKey(await makeOrganization({ psa: false }));
    const limited = makeApi({ config: { keyLimit: { quota: 1, windowMs: 10_000 } } });
    await limited.post(on('1001'), key, body);
    const refused = [
      api.post(on('1001'), revoked.value, body, STRICT),
      api.post(on('1001'), withoutPsa.value, body, STRICT),
      api.post(on('4711'), key, body, STRICT),
      api.post(on('1001'), key, {}, STRICT),
      limited.post(on('1001'), key, body, STRICT),
    ];
    const responses = await Promise.all(refused);
    expect(responses.map(({ status }) => status)).toEqual([401, 403, 404, 422, 429]);
    expect(responses.map(appliedOf)).toEqual(Array(5).fill(null));
    const plain = await api.post(on('1001'), revoked.value, body, { 'CF-Connecting-IP': '192.0.2.7' });
    const strict = await api.post(on('1001'), revoked.value, body, { ...STRICT, 'CF-Connecting-IP': '192.0.2.7' });
    expect(await seenByProber(strict)).toEqual(await seenByProber(plain));
  });

  test('without the preference, or with another one, a mismatch is the replay of the specification', async () => {
    const { key, api } = await makeWorld();
    await api.post(on('1001'), key, body, { 'Idempotency-Key': 'k' });
    for (const headers of [undefined, { Prefer: 'handling=lenient, handling=strict' }, { Prefer: 'respond-async' }]) {
      const replay = await api.post(on('1001'), key, other, { 'Idempotency-Key': 'k', ...headers });
      expect([replay.status, appliedOf(replay)]).toEqual([200, null]);
      expect(await replay.json()).toMatchObject({ idempotentReplay: true, idempotencyMismatch: true });
    }
    const Prefer = 'respond-async, HANDLING="strict"; for=k';
    expect(await problemOf(api.post(on('1001'), key, other, { 'Idempotency-Key': 'k', Prefer }))).toBe(
      '409 idempotency_mismatch',
    );
  });
});
