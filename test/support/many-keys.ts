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
    `insert into audit_log select ?2, 1, 1, 'system', 'psa', 'PSA', 'note.created', 'r', null, 'q', null, null, null, null, '', 0, 0, 0
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
     select ?2, value ->> 'id', value ->> 'day', value ->> 'id', value ->> 'notes', value ->> 'entries', value ->> 'minutes', 100, 1, 1,
       value ->> 'at', value ->> 'address' from json_each(?1)`,
    keys.flatMap((key, number) => daysOf(key.id, number, today, now)),
  );
  await run(
    `insert into refused_uses
     select ?2, value ->> 'id', value ->> 'reason', value ->> 'count', value ->> 'at', value ->> 'at', value ->> 'address' from json_each(?1)`,
    refusedOf(keys, now),
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
