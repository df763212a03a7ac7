import { drizzle } from 'drizzle-orm/d1';
import { AUDIT_ROWS } from '../../../src/db/audit/audit-row.ts';
import { findKeyByHash, type KeyRow } from '../../../src/db/keys/find-key-statements.ts';
import { prepare } from '../../../src/db/query.ts';
import { countRecord } from '../../../src/db/work/key-days.ts';
import { insertServiceTimeEntry } from '../../../src/db/work/time-entry-statements.ts';
import type { FoundKey } from '../../../src/domain/api-key.ts';
import { dateIn } from '../../../src/domain/calendar.ts';
import { derivedId } from '../../../src/domain/record-id.ts';
import type { TimeEntryRequest } from '../../../src/domain/record-kinds.ts';
import { sha256, utf8Length } from '../../../src/lib/bytes.ts';
import { toFoundKey } from '../../../src/services/keys/find-key.ts';
import { DAY } from '../limits.ts';

type Inserted = ReturnType<typeof insertServiceTimeEntry>['_']['result'][number];

interface Write {
  requestId: string;
  ticketId: string;
  idempotencyKey: string;
  body: TimeEntryRequest;
  sourceAddress: string;
  userAgent: string | null;
}

/** This Worker's statements of a time entry with its audit row and its count, in one call of D1. */
export async function sameWrite(d1: D1Database, key: FoundKey, write: Write): Promise<Inserted> {
  const { requestId, ticketId, idempotencyKey, body, sourceAddress, userAgent } = write;
  const { organizationId, keyId, chainId, timeZone } = key;
  const digest = await sha256(JSON.stringify([ticketId, Object.entries(body).sort()]));
  const id = await derivedId(organizationId, 'time_entry', idempotencyKey);
  const now = Date.now();
  const counted = {
    organizationId,
    now,
    requestId,
    sourceAddress,
    chainId,
    keyId,
    day: dateIn(timeZone, now),
    minutes: body.minutes,
    bytes: utf8Length(body.description),
  };
  const entry = {
    ...counted,
    keyHash: key.keyHash,
    timeZone,
    id,
    ticketId,
    requestDigest: digest.toHex(),
    allowedNetworks: key.allowedNetworks,
    expiresAt: key.expiresAt,
    dayLimitRecords: key.dayLimit.records,
    keyDayRecords: DAY.records,
    keyDayBytes: DAY.bytes,
    organizationDayRecords: DAY.records,
    organizationDayBytes: DAY.bytes,
    description: body.description,
    billable: body.billable ? (1 as const) : (0 as const),
  };
  const change = {
    ...counted,
    actorId: keyId,
    actorName: '',
    action: 'time_entry.created',
    targetId: id,
    ticketId,
    idempotencyKey,
    userAgent,
    detail: null,
    records: 1,
  };
  const db = drizzle(d1);
  const statements = [
    insertServiceTimeEntry(db, entry),
    AUDIT_ROWS.api_key.given(db, change),
    countRecord.time_entry(db, counted),
  ];
  const [result] = await d1.batch<Inserted>(statements.map((statement) => prepare(d1, statement)));
  const inserted = result?.results[0];
  if (!inserted) throw new Error('nothing was inserted');
  return inserted;
}

export async function readKey(d1: D1Database, hash: string): Promise<FoundKey> {
  const row = await prepare(d1, findKeyByHash(drizzle(d1), { hash })).first<KeyRow>();
  if (!row) throw new Error('the lookup of a key returned no row');
  return toFoundKey(row);
}
