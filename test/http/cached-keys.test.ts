import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countD1, withReplica } from '../support/d1.ts';
import { ledgerInconsistencies } from '../support/ledger.ts';
import { inLongRuns, runs } from '../support/property.ts';
import { changeOrganization, makeApi, makeKey, makeOrganization, revoke, rowsOf } from '../support/world.ts';

const minute = 60_000;

/** An app whose isolate has cached the key, and the D1 calls that it makes from then on. */
async function warm(options: Parameters<typeof makeApi>[0] = {}) {
  const organization = await makeOrganization();
  const key = await makeKey(organization);
  const { db, calls } = countD1(env.DB);
  const config = { keyLimit: { quota: 5, windowMs: 10_000 } };
  const api = makeApi({ config, ...options, bindings: { ...options.bindings, DB: db } });
  expect((await api.postTime(key.value)).status).toBe(201);
  calls.length = 0;
  return { organization, key, api, calls };
}

const statements = (calls: { statements: number }[]) => calls.map((call) => call.statements);

describe('a cached key', () => {
  test('a cached key writes with one call to D1', async () => {
    const { key, api, calls } = await warm();
    expect((await api.postTime(key.value)).status).toBe(201);
    expect((await api.postNote(key.value)).status).toBe(201);
    expect(statements(calls)).toEqual([3, 3]);
  });

  test('a cached key is read again after a minute, and for every ping', async () => {
    let now = Date.now();
    const { key, api, calls } = await warm({ now: () => now });
    now += minute - 1;
    await api.postNote(key.value);
    expect(statements(calls)).toEqual([3]);
    now += 1;
    await api.postNote(key.value);
    expect(statements(calls)).toEqual([3, 1, 3]);
    await api.send('/api/v1/ping', { key: key.value });
    expect(statements(calls)).toEqual([3, 1, 3, 1]);
  });

  test('a cached key that has got another scope can use it immediately', async () => {
    const organization = await makeOrganization();
    const key = await makeKey(organization, { scopes: ['tickets:note:write'] });
    const api = makeApi();
    expect((await api.postNote(key.value)).status).toBe(201);
    await env.DB.prepare('update api_keys set scopes = ? where organization_id = ? and id = ?')
      .bind('tickets:note:write tickets:time:write', organization, key.id)
      .run();
    expect((await api.postTime(key.value)).status).toBe(201);
  });

  test('a cached key that was revoked at its limit gets the constant 401, not the 429', async () => {
    const { organization, key, api } = await warm();
    for (let i = 0; i < 4; i++) expect((await api.postNote(key.value)).status).toBe(201);
    await revoke(organization, key.id);
    const response = await api.postNote(key.value);
    expect(response.headers.get('RateLimit')).toBeNull();
    expect(await response.text()).toBe('{"type":"about:blank","title":"Unauthorized","status":401}');
  });

  test('a cached key is read before its 429 is sent', async () => {
    const { key, api, calls } = await warm();
    for (let i = 0; i < 4; i++) await api.postNote(key.value);
    calls.length = 0;
    expect((await api.postNote(key.value)).status).toBe(429);
    expect(statements(calls)).toEqual([1]);
  });

  test('a refused key leaves the cache, and is not cached while its plan lacks PSA', async () => {
    const { organization, key, api, calls } = await warm();
    await changeOrganization(organization, { psa: false });
    expect((await api.postNote(key.value)).status).toBe(403);
    expect(statements(calls)).toEqual([3, 1]);
    expect((await api.postNote(key.value)).status).toBe(403);
    expect((await api.postNote(key.value)).status).toBe(403);
    // Each reads the key again. The other calls record the refusals, after their responses.
    await api.settled();
    expect(statements(calls).filter((count) => count === 1)).toEqual([1, 1, 1]);
    await changeOrganization(organization, { psa: true });
    expect((await api.postNote(key.value)).status).toBe(201);
  });
});

test('after any sequence of events over several isolates an ended key gets 401 and writes nothing, and a live key writes exactly its requests', async () => {
  const isolates = 3;
  const isolate = fc.nat(isolates - 1);
  const event = fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant('write' as const), isolate, note: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('badBody' as const), isolate }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('unknownTicket' as const), isolate }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('ping' as const), isolate }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 2 * minute }) }),
    },
    // Isolates read a key that they have not cached from a replica, which is behind until then.
    { weight: 2, arbitrary: fc.record({ do: fc.constant('catchUp' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('plan' as const), psa: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('endIn' as const), ms: fc.integer({ min: 1, max: minute }) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('revoke' as const), racing: fc.array(isolate, { maxLength: 4 }) }),
    },
  );

  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 20, maxLength: 30 }), async (events) => {
      const organization = await makeOrganization();
      const key = await makeKey(organization);
      let now = Date.now();
      const replica = withReplica(env.DB);
      // One isolate is nearest to the primary.
      const apis = Array.from({ length: isolates }, (_, index) =>
        makeApi({ now: () => now, bindings: { DB: index === 0 ? env.DB : replica.db } }),
      );
      const api = (index: number) => apis[index] ?? makeApi();
      const model = { revoked: false, endsAt: Number.POSITIVE_INFINITY, psa: true, written: 0 };

      const allowed = (wanted: number, needsPlan = true) => {
        if (model.revoked || now >= model.endsAt) return [401];
        return [needsPlan && !model.psa ? 403 : wanted];
      };
      const check = async (request: Promise<Response>, statuses: number[]) => {
        const response = await request;
        const { status } = response;
        expect(statuses).toContain(status);
        if (status === 401)
          expect(await response.text()).toBe('{"type":"about:blank","title":"Unauthorized","status":401}');
        if (status === 201) model.written += 1;
      };

      for (const e of events) {
        if (e.do === 'write')
          await check(e.note ? api(e.isolate).postNote(key.value) : api(e.isolate).postTime(key.value), allowed(201));
        else if (e.do === 'badBody') await check(api(e.isolate).postTime(key.value, { minutes: 0 }), allowed(422));
        else if (e.do === 'unknownTicket')
          await check(api(e.isolate).postNote(key.value, undefined, {}, '9999'), allowed(404));
        else if (e.do === 'ping') await check(api(e.isolate).send('/api/v1/ping', { key: key.value }), allowed(200));
        else if (e.do === 'wait') now += e.ms;
        else if (e.do === 'catchUp') await replica.catchUp(organization);
        else if (e.do === 'plan') {
          model.psa = e.psa;
          await changeOrganization(organization, { psa: e.psa });
        } else if (e.do === 'endIn') {
          // As a rotation does: the old key ends earlier.
          model.endsAt = Math.min(model.endsAt, now + e.ms);
          await env.DB.prepare('update api_keys set expires_at = ? where organization_id = ? and id = ?')
            .bind(model.endsAt, organization, key.id)
            .run();
        } else {
          const racing = e.racing.map((index) => check(api(index).postNote(key.value), [...allowed(201), 401]));
          await Promise.all([revoke(organization, key.id), ...racing]);
          model.revoked = true;
        }
      }
      // A pause, in which timers end: none does while sequences follow each other, and workerd allows 10,000 at a time.
      await Promise.all(apis.map((one) => one.settled()));
      const records = [...(await rowsOf('notes', organization)), ...(await rowsOf('time_entries', organization))];
      expect(records).toHaveLength(model.written);
      const audited = (await rowsOf('audit_log', organization)).filter(({ actor_type }) => actor_type === 'api_key');
      expect(audited).toHaveLength(model.written);
      expect(await ledgerInconsistencies(env.DB, organization)).toEqual([]);
    }),
    { numRuns: runs('cached keys against a model', inLongRuns(40, 8)), endOnFailure: true },
  );
}, 300_000);
