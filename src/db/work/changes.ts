import { RECORD_KIND_NAMES, type RecordKind } from '../../domain/record-kinds.ts';
import { AUDIT_COLUMNS } from '../audit/audit-columns.ts';
import { IS_BEING_ERASED } from '../directory/erasure.ts';
import { columns, jsonObject, number, numberOrNull, type RowOf, statement, text, textOrNull } from '../statement.ts';
import { RECORD_TABLES } from './record-tables.ts';

// The change feed: the audit log, with each record in its current state. A page reads at most three rows per change.

/** The target of a cursor. Null fields: there is no such organization or row. */
const CURSOR_POSITION = {
  epoch: text('d.epoch'),
  organizationId: textOrNull('o.id'),
  requestId: textOrNull('a.request_id'),
  isBeingErased: number(IS_BEING_ERASED),
};

export type CursorPosition = RowOf<typeof CURSOR_POSITION>;

/** The database's epoch, the organization, and the audit row with this `seq`. Always one row. */
export const findCursorPosition = statement<{ organizationId: string; seq: number }, CursorPosition>(`
  select ${columns(CURSOR_POSITION)}
  from database_epoch d
  left join organizations o on o.id = :organizationId
  left join audit_log a on a.organization_id = o.id and a.seq = :seq`);

const AUDITED_KEY = {
  ...AUDIT_COLUMNS,
  keyId: textOrNull('k.id'),
  keyName: textOrNull('k.name'),
  keyHint: textOrNull('k.hint'),
  keyExpiresAt: numberOrNull('k.expires_at'),
  keyRevokedAt: numberOrNull('k.revoked_at'),
  keySuccessorId: textOrNull('k.successor_id'),
};

/** A change, with the record it is about under its kind: a `StoredRecords[Kind]` as JSON, or null. */
export type ChangeRow = RowOf<typeof AUDITED_KEY> & Record<RecordKind, string | null>;

const isAbout = (subject: RecordKind | 'api_key') => `a.action glob '${subject}.*'`;
/** A kind's name is also the alias of its table. */
const joins = RECORD_KIND_NAMES.map(
  (kind) =>
    `left join ${RECORD_TABLES[kind].table} ${kind} on ${kind}.organization_id = a.organization_id and ${kind}.id = a.target_id and ${isAbout(kind)}`,
);
const keyIds = [...RECORD_KIND_NAMES.map((kind) => `${kind}.key_id`), `iif(${isAbout('api_key')}, a.target_id, null)`];

/** The organization's audit rows after `seq`, in order, each with its record and key. */
export const findChanges = statement<{ organizationId: string; seq: number; limit: number }, ChangeRow>(`
  select ${columns(AUDITED_KEY)},
    ${RECORD_KIND_NAMES.map((kind) => `${jsonObject(RECORD_TABLES[kind].fields, kind)} as ${kind}`).join(', ')}
  from audit_log a
  ${joins.join('\n  ')}
  left join api_keys k on k.organization_id = a.organization_id and k.id = coalesce(${keyIds.join(', ')})
  where a.organization_id = :organizationId and a.seq > :seq
  order by a.seq limit :limit`);
