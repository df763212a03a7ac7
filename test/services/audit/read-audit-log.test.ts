import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, test } from 'vitest';
import { timeOrderedId } from '../../../src/domain/record-id.ts';
import {
  type AuditFilter,
  exportAuditLog,
  listAuditAdministrators,
  readAuditLog,
  searchAuditLog,
} from '../../../src/services/audit/read-audit-log.ts';
import { everyKey, listKeysToChoose } from '../../../src/services/keys/read-keys.ts';
import type { AdminContext } from '../../../src/services/service-context.ts';
import { aroundD1, countD1 } from '../../support/d1.ts';
import { asAdmin, importRecords, makeApi, makeKey, makeOrganization } from '../../support/world.ts';

const ROWS = 100_000;
const STEP_MS = 60_000;
const FIRST_AT = Date.parse('2026-01-01T00:00:00Z');

let organization: string;
let busyKey: string;
let rareKey: string;

/** A log with one row a minute, a few of them with a rare key, action or ticket. */
beforeAll(async () => {
  organization = await makeOrganization();
  const [busy, rare] = [await makeKey(organization), await makeKey(organization)];
  [busyKey, rareKey] = [busy.id, rare.id];
  // The first two rows are those of the keys.
  await env.DB.prepare(
    `with recursive n(i) as (select 3 union all select i + 1 from n where i < ?1)
     insert into audit_log select ?2, i, ?3 + i * ?4, 'api_key', iif(i % 20000 = 7, ?6, ?5), 'n8n', iif(i % 30000 = 9, 'note.created', 'time_entry.created'),
       'record-' || i, iif(i % 40000 = 11, 'rare', '1001'), 'request-' || i, null, '192.0.2.1', null, null, '', 0, 0 from n`,
  )
    .bind(ROWS, organization, FIRST_AT, STEP_MS, busy.id, rare.id)
    .run();
  await fillLedger(organization);
});

/** Fills the daily ledger of an organization whose audit rows were inserted directly. */
async function fillLedger(own: string): Promise<void> {
  await env.DB.prepare(
    `insert into key_days select organization_id, actor_id, date(at / 1000, 'unixepoch'), actor_id, count(*), 0, 0, count(*),
       max(at), null from audit_log where organization_id = ?1 and actor_type = 'api_key' group by actor_id, date(at / 1000, 'unixepoch')`,
  )
    .bind(own)
    .run();
}

/** Reads the log of an organization as the pages do, and counts the calls to D1 and the rows that it read. */
async function counted<T>(read: (ctx: AdminContext) => Promise<T>, own = organization) {
  const { db, calls } = countD1(env.DB);
  const result = await read({ ...asAdmin(own), db });
  return { result, rowsRead: calls.reduce((sum, call) => sum + call.rowsRead, 0), calls: calls.length };
}

/** Reads all pages of the filtered log, and counts the rows of each. */
async function readAllPages(filter: AuditFilter, own = organization) {
  const found: number[] = [];
  const reads: number[] = [];
  for (let cursor: number | undefined = Number.MAX_SAFE_INTEGER; cursor !== undefined; ) {
    const before: number = cursor;
    const { result, rowsRead } = await counted((ctx) => readAuditLog(ctx, filter, before), own);
    found.push(...seqs(result.entries));
    reads.push(rowsRead);
    cursor = result.next;
  }
  return { found, pages: reads.length, most: Math.max(...reads) };
}

interface Entry {
  at: number;
  requestId?: string;
}

/** An organization whose log has the creation of its key at `FIRST_AT`, and then these entries. */
async function makeLog(entries: readonly Entry[]): Promise<string> {
  const own = await makeOrganization();
  const { id } = await makeKey(own, {}, () => FIRST_AT);
  await env.DB.prepare(
    `insert into audit_log select ?1, 2 + key, value ->> 'at', 'api_key', ?2, 'n8n', 'note.created', 'record', '1001',
       coalesce(value ->> 'requestId', 'another request'), null, null, null, null, '', 0, 0 from json_each(?3)`,
  )
    .bind(own, id, JSON.stringify(entries))
    .run();
  return own;
}

const page = (filter: AuditFilter, cursor?: number) => counted((ctx) => readAuditLog(ctx, filter, cursor));
const seqs = (rows: readonly { seq: number }[]) => rows.map(({ seq }) => seq);

describe('a log of 100,000 entries', () => {
  test('any page of the log is read in few rows', async () => {
    const first = await page({});
    expect(seqs(first.result.entries)).toEqual(Array.from({ length: 50 }, (_, i) => ROWS - i));
    expect(first.rowsRead).toBeLessThan(400);
    const deep = await page({}, 50_000);
    expect(seqs(deep.result.entries).at(0)).toBe(49_999);
    expect(deep.rowsRead).toBeLessThan(400);
  });

  test('the entries of a rare key are found without reading entries of other keys', async () => {
    const { result, rowsRead } = await page({ keyId: rareKey });
    // The last one is its creation.
    expect(seqs(result.entries)).toEqual([80_007, 60_007, 40_007, 20_007, 7, 2]);
    expect(result.next).toBeUndefined();
    expect(rowsRead).toBeLessThan(200);
  });

  test('a page of the entries of a busy key reads a bounded number of rows', async () => {
    const { result, rowsRead } = await page({ keyId: busyKey });
    expect(result.entries).toHaveLength(50);
    expect(rowsRead).toBeLessThan(8_000);
  });

  test('the entries of a key on a busy day are found without reading those of other keys', async () => {
    const own = await makeOrganization();
    const [busy, quiet] = [await makeKey(own), await makeKey(own)];
    await env.DB.prepare(
      `with recursive n(i) as (select 3 union all select i + 1 from n where i < 5000)
       insert into audit_log select ?1, i, ?2 + i, 'api_key', iif(i in (100, 4900), ?4, ?3), 'n8n', 'note.created',
         'record-' || i, '1001', 'request', null, null, null, null, '', 0, 0 from n`,
    )
      .bind(own, FIRST_AT, busy.id, quiet.id)
      .run();
    await fillLedger(own);
    const { found, pages, most } = await readAllPages({ keyId: quiet.id }, own);
    expect([found, pages]).toEqual([[4_900, 100, 2], 1]);
    expect(most).toBeLessThan(200);
  });

  test('the entries of a key are all found once, in order, although days overlap after its time zone moved west', async () => {
    const organization = await makeOrganization({ timeZone: 'Pacific/Kiritimati' });
    const key = await makeKey(organization, {}, () => FIRST_AT);
    let now = FIRST_AT;
    const api = makeApi({ now: () => now });
    const write = async (count: number, at: number) => {
      now = at;
      for (let i = 0; i < count; i++) expect((await api.postNote(key.value)).status).toBe(201);
    };
    await write(1, FIRST_AT);
    await write(60, FIRST_AT + 24 * 3_600_000);
    const name = 'Northwind';
    const moved = { type: 'organization', id: organization, name, psa: true, defaultHourlyRate: 1 };
    await importRecords({ ...moved, timeZone: 'Pacific/Pago_Pago' });
    await write(5, FIRST_AT + 24 * 3_600_000 + 60_000);
    const { found } = await readAllPages({ keyId: key.id }, organization);
    expect(found).toEqual(Array.from({ length: 67 }, (_, i) => 67 - i));
  });

  test('the entries of an administrator are found without reading entries of keys', async () => {
    const { result, rowsRead } = await page({ administratorId: 'ada' });
    expect(seqs(result.entries)).toEqual([2, 1]);
    expect(result.next).toBeUndefined();
    expect(rowsRead).toBeLessThan(50);
    expect(seqs((await page({ administratorId: 'ada', keyId: rareKey })).result.entries)).toEqual([2]);
    expect((await page({ administratorId: 'tess' })).result.entries).toEqual([]);
  });

  test('rare actions and tickets are all found, in pages that read a bounded number of rows', async () => {
    for (const [filter, expected] of [
      [{ action: 'note.created' }, [90_009, 60_009, 30_009, 9]],
      [{ ticketId: 'rare' }, [80_011, 40_011, 11]],
    ] satisfies [AuditFilter, number[]][]) {
      const { found, most } = await readAllPages(filter);
      expect(found).toEqual(expected);
      expect(most).toBeLessThan(20_400);
    }
  });

  test('a span of time is found in few rows, to the millisecond', async () => {
    const at = (seq: number) => FIRST_AT + seq * STEP_MS;
    const { result, rowsRead } = await page({ since: at(500), until: at(503) });
    expect(seqs(result.entries)).toEqual([502, 501, 500]);
    expect(rowsRead).toBeLessThan(300);
  });

  test('an entry is found in its span although clocks differ by 30 s', async () => {
    // In a log of seven entries the search reads the fourth, and then the sixth.
    const skewed = await makeLog([1_000, 36_000, 5_000, 40_000, 79_999, 45_000].map((ms) => ({ at: FIRST_AT + ms })));
    const { entries } = await readAuditLog(asAdmin(skewed), { since: FIRST_AT + 35_000, until: FIRST_AT + 50_000 });
    expect(seqs(entries)).toEqual([7, 5, 3]);
  });

  test('an export reads one page at a time, and contains each entry once', async () => {
    const { db, calls } = countD1(env.DB);
    let expected = ROWS;
    let largest = 0;
    for await (const { items } of exportAuditLog({ ...asAdmin(organization), db }, {})) {
      largest = Math.max(largest, items.length);
      for (const { seq } of items) {
        if (seq !== expected) throw new Error(`entry ${expected} is missing`);
        expected -= 1;
      }
    }
    expect(expected).toBe(0);
    expect(largest).toBe(2_500);
    expect(Math.max(...calls.map(({ rowsRead }) => rowsRead))).toBeLessThan(25_000);
  });

  test('a download continues after the deadline of its request', async () => {
    // The deadline has passed, and D1 takes longer than that.
    const db = aroundD1(env.DB, async (run) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return run();
    });
    const ctx = { ...asAdmin(organization), db, deadlineAt: Date.now() - 1 };
    await expect(listKeysToChoose(ctx)).rejects.toMatchObject({ code: 'unavailable' });
    const entries = exportAuditLog(ctx, { since: FIRST_AT });
    expect((await entries.next()).value?.items).toHaveLength(2_500);
    expect((await entries.next()).value?.items).toHaveLength(2_500);
    expect((await everyKey(ctx).next()).value?.items).toHaveLength(2);
  });
});

describe('the search', () => {
  test('finds an entry by record id, request id and Idempotency-Key (with or without quotes) in few rows', async () => {
    const own = await makeOrganization();
    const key = await makeKey(own);
    const api = makeApi();
    const response = await api.postTime(key.value, undefined, { 'Idempotency-Key': 'triage:17' });
    const { entry } = await response.json<{ entry: { id: string } }>();
    const note = await api.postNote(key.value);
    const requests = [response, note].map(({ headers }) => headers.get('X-Request-Id') ?? '');
    for (const [text, action] of [
      [entry.id, 'time_entry.created'],
      [entry.id.toUpperCase(), 'time_entry.created'],
      ['triage:17', 'time_entry.created'],
      [' "triage:17" ', 'time_entry.created'],
      [' triage:17 ', 'time_entry.created'],
      [requests[0] ?? '', 'time_entry.created'],
      [requests[1] ?? '', 'note.created'],
      [key.id, 'api_key.created'],
    ] as const) {
      const { result: rows = [], rowsRead } = await counted((ctx) => searchAuditLog(ctx, text), own);
      expect([text, rows.map((row) => row.action)]).toEqual([text, [action]]);
      expect(rowsRead).toBeLessThan(100);
    }
    expect(await searchAuditLog(asAdmin(own), 'triage:18')).toEqual([]);
    expect(await searchAuditLog(asAdmin(organization), entry.id)).toEqual([]);
  });

  test('reads a bounded part of the log for an unknown request id', async () => {
    const at = FIRST_AT + 50_000 * STEP_MS;
    const id = `${at
      .toString(16)
      .padStart(12, '0')
      .replace(/^(.{8})/, '$1-')}-7000-8000-000000000000`;
    const { result, rowsRead } = await counted((ctx) => searchAuditLog(ctx, id));
    expect(result).toEqual([]);
    expect(rowsRead).toBeLessThan(200);
  });

  test('finds a request that took 30 s after an entry whose clock was 30 s ahead', async () => {
    const receivedAt = FIRST_AT + 60_000;
    const requestId = timeOrderedId(receivedAt);
    const own = await makeLog([{ at: receivedAt + 59_999 }, { at: receivedAt + 29_999, requestId }]);
    expect(seqs((await searchAuditLog(asAdmin(own), requestId)) ?? [])).toEqual([3]);
  });

  test('looks for a request id in the next 10,000 entries only', async () => {
    const receivedAt = FIRST_AT + 60_000;
    const requestId = timeOrderedId(receivedAt);
    const log = (length: number) =>
      Array.from({ length }, (_, i) => ({ at: receivedAt + i, ...(i === 0 && { requestId }) }));
    const [near, far] = [await makeLog(log(10_000)), await makeLog(log(10_001))];
    expect(seqs((await searchAuditLog(asAdmin(near), requestId)) ?? [])).toEqual([2]);
    expect(await searchAuditLog(asAdmin(far), requestId)).toEqual([]);
  });
});

describe('the list of administrators in the audit log', () => {
  /** An organization in whose log each of these users did so many things. */
  async function makeActors(names: readonly string[], rowsEach: number): Promise<string> {
    const own = await makeOrganization();
    const users = names.map((name, index) => ({ name, id: `actor-${String(index).padStart(4, '0')}` }));
    await importRecords(
      ...users.map(({ id, name }) => ({
        type: 'user',
        organization: own,
        id,
        name,
        email: `${id}@${own}.example`,
        admin: !name.startsWith('Former'),
      })),
    );
    await env.DB.prepare(
      `insert into audit_log select ?1, row_number() over (order by n.value, u.value), 1, 'user', u.value, 'Then', 'api_key.created', 'k',
         null, 'q', null, null, null, null, '', 0, 0 from json_each(?2) u, json_each(?3) n`,
    )
      .bind(
        own,
        JSON.stringify(users.map(({ id }) => id)),
        JSON.stringify(Array.from({ length: rowsEach }, (_, n) => n)),
      )
      .run();
    await env.DB.prepare(
      `insert into audit_log select ?1, (select max(seq) from audit_log where organization_id = ?1) + 1 + value, 1,
         iif(value % 2, 'system', 'api_key'), iif(value % 2, 'psa', 'key'), 'Other', 'note.created', 'r', null, 'q', null, null, null, null, '', 0, 0
       from json_each('[0,1,2,3]')`,
    )
      .bind(own)
      .run();
    return own;
  }

  const list = (own: string) => counted(listAuditAdministrators, own);

  test('the list shows present administrators by name, then former ones, and neither keys nor the PSA', async () => {
    const own = await makeActors(['Zoe', 'Former Bob', 'Ada 10', 'Ada 9'], 2);
    expect((await list(own)).result).toEqual([
      { id: 'actor-0003', name: 'Ada 9', isFormer: false },
      { id: 'actor-0002', name: 'Ada 10', isFormer: false },
      { id: 'actor-0000', name: 'Zoe', isFormer: false },
      { id: 'actor-0001', name: 'Former Bob', isFormer: true },
    ]);
  });

  test('the list costs one call and three rows for each of them, however much they did', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `Administrator ${index}`);
    for (const rowsEach of [1, 200]) {
      const { result, calls, rowsRead } = await list(await makeActors(names, rowsEach));
      expect([result.length, calls]).toEqual([20, 1]);
      expect(rowsRead).toBeLessThanOrEqual(3 * 20 + 5);
    }
  });

  test('reads at most 1,500 rows, however many actors there are', async () => {
    const own = await makeActors(['Ada'], 1);
    await env.DB.prepare(
      `insert into audit_log select ?1, 6 + value, 1, 'system', 'operator ' || value, 'Operator', 'api_key.revoked', 'k', null, 'q',
         null, null, null, null, '', 0, 0 from json_each(?2)`,
    )
      .bind(own, JSON.stringify(Array.from({ length: 2_000 }, (_, index) => index)))
      .run();
    const { result, rowsRead } = await list(own);
    expect(result.map(({ name }) => name)).toEqual(['Ada']);
    expect(rowsRead).toBeLessThanOrEqual(1_500);
  });
});
