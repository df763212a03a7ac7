import { addDays, DAY_MS } from '../../src/domain/calendar.ts';
import { importDirectory } from '../../src/ops/import/import-directory.ts';

/** Names as administrators choose them: some short, some long, one without spaces. */
const TOOLS = ['n8n prod', 'Make', 'Zapier', 'Power Automate', 'Datto RMM', 'AI agent'];
const WORK = [
  'alert triage',
  'password resets, night shift',
  'antivirus status, Adventure Works Cycles and its subsidiaries',
  'backup report',
  'invoice check, Humongous Insurance',
  'onboarding',
];
const OTHER_NAMES = ['Wiederherstellungstestprotokollsammelübermittlung', '=HYPERLINK("http://evil.example","click")'];
const ADDRESSES = ['203.0.113.7', '2001:db8:8a2e:370:7334:1c5f:9b0e:42d1', '198.51.100.214'];

/** Imports organizations that one person administers; the first one also has a former administrator. */
export async function importOrganizations(
  db: D1Database,
  organizations: readonly { id: string; name: string }[],
  email: string,
): Promise<void> {
  const records = organizations.flatMap(({ id, name }) => [
    { type: 'organization', id, name, psa: true, timeZone: 'America/New_York', defaultHourlyRate: 100 },
    { type: 'user', organization: id, id: 'max', email, name: 'Max Manykeys', admin: true },
    { type: 'user', organization: id, id: 'ivan', email: `ivan@${id}.example`, name: 'Ivan Petrov', active: false },
  ]);
  const result = await importDirectory(db, records.map((record) => JSON.stringify(record)).join('\n'));
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
}

/**
 * Gives an organization so many keys with 30 days of use: every tenth is expired or revoked, one is
 * replaced, some expire soon, some were never used, some were refused.
 */
export async function insertKeys(db: D1Database, organization: string, count: number, now: number): Promise<void> {
  const today = new Date(now).toISOString().slice(0, 10);
  const numbers = Array.from({ length: count }, (_, number) => number);
  const keys = numbers.map((number) => makeKey(organization, number, now));
  const run = (sql: string, rows: readonly unknown[]) => db.prepare(sql).bind(JSON.stringify(rows), organization).run();
  // An audit row, without which the organization would look as if it never had a key.
  await run(
    `insert into audit_log select ?2, 1, 1, 'system', 'psa', 'PSA', 'note.created', 'r', null, 'q', null, null, null, null, '', 0, 0
     where json_valid(?1) and not exists (select 1 from audit_log where organization_id = ?2)`,
    [],
  );
  await run(
    `insert into api_keys (organization_id, id, chain_id, name, hash, hint, scopes, created_at, created_by, expires_at, revoked_at, revoked_by, successor_id)
     select ?2, value ->> 'id', value ->> 'id', value ->> 'name', value ->> 'hash', value ->> 'hint', value ->> 'scopes',
       value ->> 'createdAt', value ->> 'createdBy', value ->> 'expiresAt', value ->> 'revokedAt',
       iif(value ->> 'revokedAt' is null, null, 'max'), value ->> 'successorId' from json_each(?1)`,
    keys,
  );
  await run(
    `insert into key_days
     select ?2, value ->> 'id', value ->> 'day', value ->> 'id', value ->> 'notes', value ->> 'entries', value ->> 'minutes', 100,
       value ->> 'at', value ->> 'address' from json_each(?1)`,
    keys.flatMap((key, number) => daysOf(key.id, number, today, now)),
  );
  await run(
    `insert into refused_uses
     select ?2, value ->> 'id', value ->> 'reason', value ->> 'count', value ->> 'at', value ->> 'at', value ->> 'address', null, null, '', null from json_each(?1)`,
    refusedOf(keys, now),
  );
}

/** An organization with 62 keys and a log of months, which the shared server has. */
export const LARGE = { id: 'large', name: 'Large', email: 'max@large.example' };

export async function insertLarge(db: D1Database): Promise<void> {
  const now = Date.now();
  await importOrganizations(db, [LARGE], LARGE.email);
  await insertKeys(db, LARGE.id, 62, now);
  await insertActivity(db, LARGE.id, 21_000, now);
}

/** The ticket that two of the entries of `insertActivity` are about, the older one from the first day. */
export const RARE_TICKET = '471100';

/**
 * Gives an organization with keys so many audit entries over 90 days, the latest one minute ago: notes and time
 * entries of its keys in use on 300 tickets, and every 40th entry a change by an administrator. The daily ledger of
 * these keys is the one of these entries. A few statements, however many entries.
 */
async function insertActivity(db: D1Database, organization: string, count: number, now: number): Promise<void> {
  const run = (sql: string, ...values: unknown[]) =>
    db
      .prepare(sql)
      .bind(organization, ...values)
      .run();
  await run("insert into companies select ?1, 'acme', 'Acme', 1");
  await run(
    `with recursive n(i) as (select 1000 union all select i + 1 from n where i < 1299)
     insert into tickets select ?1, i, 'acme', 1 from n union all select ?1, ?2, 'acme', 1`,
    RARE_TICKET,
  );
  await run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2),
       writers as (select k.id, k.name, k.scopes, row_number() over (order by k.id) - 1 as number, count(*) over () as total
         from api_keys k where k.organization_id = ?1 and k.revoked_at is null
           and k.id in (select key_id from key_days where organization_id = ?1 and last_at > ?3 - 30 * 86400000))
     insert into audit_log
     select ?1, i + (select max(seq) from audit_log where organization_id = ?1), ?3 - 60000 - cast((?2 - i) * 90.0 * 86400000 / ?2 as integer),
       iif(i % 40 = 0, 'user', 'api_key'), iif(i % 40 = 0, 'max', w.id), iif(i % 40 = 0, 'Max Manykeys', w.name),
       case when i % 40 = 0 then 'api_key.changed' when w.scopes like '%note%' and (i % 3 > 0 or w.scopes not like '%time%')
         then 'note.created' else 'time_entry.created' end,
       iif(i % 40 = 0, w.id, printf('%08x-0000-7000-8000-%012x', i, i)),
       case when i % 40 = 0 then null when i in (1, ?2 - 10) then ?4 else 1000 + i * 7919 % 300 end,
       printf('%08x-1111-7000-8000-%012x', i, i), iif(i % 40 = 0, null, 'workflow:evt-' || i),
       iif(i % 3 = 0, '2001:db8:8a2e:370:7334:1c5f:9b0e:42d1', '203.0.113.' || (i % 50)), iif(i % 40 = 0, 'Mozilla/5.0', 'n8n/2.4.1'),
       iif(i % 40 = 0, 'description added: "Closes alerts of the night"', null), '', 0, 0
     from n join writers w on w.number = i * 31 % w.total order by i`,
    count,
    now,
    RARE_TICKET,
  );
  const record = `organization_id, target_id, ticket_id, at, actor_id, request_id, printf('%064x', seq), seq`;
  await run(
    `insert into notes select ${record}, 'Alert “Disk C: 92 % full” on WS-' || seq || '. Removed 40 GB of temporary files of four users.' || char(10) || char(10) || 'No service was restarted.'
     from audit_log where organization_id = ?1 and action = 'note.created' and actor_type = 'api_key'`,
  );
  await run(
    `insert into time_entries select ${record}, 'max', 5 + seq % 60, 'Cleared temporary files on WS-' || seq, 1, date(at / 1000, 'unixepoch'), 10000, 'company_default', 'settings', 'SUBMITTED', null
     from audit_log where organization_id = ?1 and action = 'time_entry.created' and actor_type = 'api_key'`,
  );
  await run(
    `delete from key_days where organization_id = ?1 and key_id in (select actor_id from audit_log where organization_id = ?1 and actor_type = 'api_key')`,
  );
  await run(
    `insert into key_days select ?1, k.chain_id, date(a.at / 1000 - 18000, 'unixepoch'), a.actor_id, sum(a.action = 'note.created'), sum(a.action <> 'note.created'),
       sum(coalesce(e.minutes, 0)), 100 * count(*), max(a.at), a.source_address
     from audit_log a join api_keys k on k.organization_id = a.organization_id and k.id = a.actor_id
     left join time_entries e on e.organization_id = a.organization_id and e.id = a.target_id
     where a.organization_id = ?1 and a.actor_type = 'api_key' group by a.actor_id, 3`,
  );
}

function makeKey(organization: string, number: number, now: number) {
  const name =
    OTHER_NAMES[number] ??
    `${TOOLS[number % TOOLS.length]}: ${WORK[Math.floor(number / TOOLS.length) % WORK.length]} ${number}`;
  const createdAt = now - (100 + number) * DAY_MS;
  const isRevoked = number % 10 === 8;
  const isExpired = number % 20 === 9;
  const isReplaced = number === 5;
  const inDays = isExpired ? -2 : isReplaced ? 1 : number % 12 === 3 ? 5 : number % 3 === 0 ? 200 : undefined;
  return {
    id: idOf(organization, number),
    name,
    hash: Array.from(`${organization} ${number}`, (letter) => letter.charCodeAt(0).toString(16))
      .join('')
      .padEnd(64, 'a')
      .slice(-64),
    hint: `twb_${String(number).padStart(4, '4')}…x${String(number).padStart(3, '9')}`,
    scopes: ['tickets:note:write', 'tickets:note:write tickets:time:write', 'tickets:time:write'][number % 3],
    createdAt,
    createdBy: number % 15 === 4 ? 'ivan' : 'max',
    expiresAt: inDays === undefined ? null : now + inDays * DAY_MS,
    revokedAt: isRevoked ? now - 3 * DAY_MS : null,
    successorId: isReplaced ? idOf(organization, 6) : null,
  };
}

/** A record id whose order is that of the numbers. */
const idOf = (organization: string, number: number) =>
  `0190${String(number).padStart(4, '0')}-0000-7000-8000-${organization
    .replaceAll(/[^0-9a-f]/g, '')
    .padEnd(12, '0')
    .slice(0, 12)}`;

function daysOf(id: string, number: number, today: string, now: number) {
  // Never used, or not for months.
  if (number % 9 === 2) return [];
  const ago = number % 9 === 7 ? 70 : 0;
  return Array.from({ length: ago ? 1 : 30 }, (_, index) => ({
    id,
    day: addDays(today, -index - ago),
    notes: (index * 7 + number * 3) % (number % 4 === 0 ? 40 : 6),
    entries: 1 + (index % 3),
    minutes: 15 + ((index * number) % 200),
    at: now - (index + ago) * DAY_MS - number * 3_600_000,
    address: ADDRESSES[number % ADDRESSES.length],
  }));
}

function refusedOf(keys: readonly { id: string; expiresAt: number | null; revokedAt: number | null }[], now: number) {
  const use = (key: { id: string } | undefined, reason: string, count: number) =>
    key ? [{ id: key.id, reason, count, at: now - count * 60_000, address: ADDRESSES[count % ADDRESSES.length] }] : [];
  return [
    ...use(
      keys.find(({ expiresAt }) => expiresAt !== null && expiresAt < now),
      'expired',
      18,
    ),
    ...use(
      keys.find(({ revokedAt }) => revokedAt !== null),
      'revoked',
      35,
    ),
    ...use(keys[0], 'idempotency_mismatch', 52),
    ...use(keys[3], 'scope_missing', 4),
    ...use(keys[4], 'daily_limit_reached', 2),
  ];
}
