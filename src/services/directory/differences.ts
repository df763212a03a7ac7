import { applyMessage, applyUnsigned } from '../../db/directory/clock.ts';
import { recordReturn } from '../../db/directory/erasure.ts';
import {
  type DirectoryStatement,
  deactivateAgreements,
  ensureServiceAccount,
  type FoundRow,
  findDifferingRecords,
  findErasures,
  findHeldCompanies,
  findHeldEmails,
  findKnownCompanies,
  findOrganizations,
  retireServiceAccount,
  upsertRecords,
  vacateEmails,
} from '../../db/directory/records.ts';
import type { Database, Statement } from '../../db/query.ts';
import {
  BUILT_IN_SERVICE_ACCOUNT,
  DIRECTORY_TYPES,
  type DirectoryEntry,
  type DirectoryError,
  type DirectoryRecord,
  type DirectoryType,
  entryError,
} from '../../domain/directory.ts';
import { errorOf, organizationErased } from '../../domain/errors.ts';
import type { SignedMessage } from '../../domain/webhook.ts';
import { sendBatch } from '../call-d1.ts';
import type { ServiceContext, SystemActor } from '../service-context.ts';

// The parts of an upsert of one organization's records: what would change, what prevents it, and
// the transaction that makes the changes.

/**
 * How many records one statement carries. Even with the longest names this is well under 2 MB, D1's
 * limit for a bound value.
 */
const RECORDS_PER_STATEMENT = 1_000;
/** The deadline of one call. A transaction of the largest organization takes a few seconds. */
const CALL_DEADLINE_MS = 60_000;

/** What these functions need from a context: each call to D1 has a separate deadline. */
type DirectoryDatabase = Pick<ServiceContext, 'db' | 'stats' | 'waitsForLock'>;

export interface DirectoryDifference {
  type: DirectoryType;
  id: string;
  status: 'created' | 'changed';
}

/** The records that an upsert would create or change, including the service account that it adds or retires. */
export async function findDifferences(
  ctx: DirectoryDatabase,
  organization: string,
  entries: readonly DirectoryEntry[],
): Promise<DirectoryDifference[]> {
  const records = validRecords(entries);
  const [organizations = [], ...differing] = await query(ctx, organization, [
    { statement: findOrganizations, items: [organization] },
    ...DIRECTORY_TYPES.map((type) => ({ statement: findDifferingRecords(type), items: ofType(records, type) })),
  ]);
  const differences = DIRECTORY_TYPES.flatMap((type, index) =>
    (differing[index] ?? []).map(
      ({ id, found }): DirectoryDifference => ({ type, id, status: found === null ? 'created' : 'changed' }),
    ),
  );

  const users = records.filter((record) => record.type === 'user');
  const named = users.some(({ service }) => service);
  const present = organizations[0]?.found ?? null;
  const presentStays = present !== null && !users.some(({ id }) => id === present);
  if (named && presentStays) differences.push({ type: 'user', id: present, status: 'changed' });
  if (!named && !presentStays) differences.push({ type: 'user', id: BUILT_IN_SERVICE_ACCOUNT, status: 'created' });
  return differences;
}

/**
 * What prevents an upsert: references to missing records, and unique values of records that it does
 * not change. With `isPartial`, the upsert leaves out what cannot be written, and this is also what
 * cannot be written for that reason.
 * @throws ServiceError `being_erased`, `organization_erased` (without `recreate`)
 */
export async function findConflicts(
  ctx: DirectoryDatabase,
  organization: string,
  entries: readonly DirectoryEntry[],
  { isPartial = false, recreate = false } = {},
): Promise<DirectoryError[]> {
  const records = validRecords(entries);
  const here = idsOf(entries);
  const companies = new Set(
    records.flatMap((record) => ('company' in record && !here.has(`company ${record.company}`) ? record.company : [])),
  );
  const [organizations = [], erasures = [], found = [], emails = [], agreements = []] = await query(ctx, organization, [
    { statement: findOrganizations, items: [organization] },
    { statement: findErasures, items: [organization] },
    { statement: findKnownCompanies, items: [...companies] },
    { statement: findHeldEmails, items: ofType(records, 'user') },
    { statement: findHeldCompanies, items: ofType(records, 'agreement') },
  ]);
  // Otherwise a record could be refused for a reference to one that is already removed.
  if (erasures.some(({ found }) => found === 'open')) throw errorOf('being_erased');
  if (erasures.length > 0 && !recreate) throw organizationErased(`Organization ${organization}`);
  if (organizations.length === 0 && !here.has(`organization ${organization}`)) {
    const detail = `organization ${organization} is neither among the valid records nor in the database`;
    return entries.map((entry) => entryError(entry, '/organization', 'unknown_reference', detail));
  }
  for (const { id } of found) companies.delete(id);
  const stored = { organization, missingCompanies: companies, emails, agreements };
  const errors: DirectoryError[] = [];
  for (let left = entries; ; ) {
    const more = conflictsWith(stored, left);
    errors.push(...more);
    if (!isPartial || more.length === 0) return errors;
    left = withoutRefused(left, more);
  }
}

/** The stored values that decide whether records can be written. */
interface StoredDirectory {
  organization: string;
  missingCompanies: ReadonlySet<string>;
  /** The email addresses, and companies with an active agreement, that other records have. */
  emails: readonly FoundRow[];
  agreements: readonly FoundRow[];
}

function conflictsWith(
  { organization, missingCompanies, emails, agreements }: StoredDirectory,
  entries: readonly DirectoryEntry[],
): DirectoryError[] {
  // Records of this upsert take the values that they name. Only records outside it keep theirs.
  const here = idsOf(entries);
  const holders = (rows: readonly FoundRow[], type: DirectoryType) =>
    new Map(rows.filter(({ found }) => !here.has(`${type} ${found}`)).map(({ id, found }) => [id, found]));
  const emailHolders = holders(emails, 'user');
  const activeAgreements = holders(agreements, 'agreement');
  return entries.flatMap((entry) => {
    const { record } = entry;
    const errors: DirectoryError[] = [];
    if (record && 'company' in record && missingCompanies.has(record.company)) {
      const detail = `company ${record.company} of organization ${organization} is neither among the valid records nor in the database`;
      errors.push(entryError(entry, '/company', 'unknown_reference', detail));
    }
    if (record?.type === 'user' && emailHolders.has(record.email)) {
      const detail = `email ${record.email} belongs to user ${emailHolders.get(record.email)}, who is not among the valid records`;
      errors.push(entryError(entry, '/email', 'conflict', detail));
    }
    if (record?.type === 'agreement' && record.active && activeAgreements.has(record.company)) {
      const detail = `company ${record.company} has the active agreement ${activeAgreements.get(record.company)}, which is not among the valid records; deactivate it with them`;
      errors.push(entryError(entry, '/active', 'conflict', detail));
    }
    return errors;
  });
}

export function withoutRefused(entries: readonly DirectoryEntry[], errors: readonly DirectoryError[]) {
  const refused = new Set(errors.map(({ at }) => at));
  return entries.filter(({ at }) => !refused.has(at));
}

/**
 * The statement that belongs to every change of a directory: it keeps a message that was captured
 * and sent again from undoing later changes.
 */
export function advanceClock(db: Database, organizationId: string, message: SignedMessage | undefined): Statement {
  return message ? applyMessage(db, organizationId, message) : applyUnsigned(db, organizationId);
}

/**
 * Writes records in one transaction, all of them or none; those that are equal at that moment are not
 * written. Whatever was committed since they were read is overwritten, so the last caller wins. With
 * `recreatedBy`, an organization that was erased is created again, and its erasure records who did so.
 * Returns the number of rows written.
 * @throws D1Failure `OLDER_MESSAGE` if a newer message was applied; ServiceError `being_erased`,
 *   `organization_erased` (without `recreatedBy`)
 */
export async function writeRecords(
  ctx: DirectoryDatabase,
  organizationId: string,
  entries: readonly DirectoryEntry[],
  { message, recreatedBy }: { message?: SignedMessage | undefined; recreatedBy?: SystemActor | undefined } = {},
): Promise<number> {
  const records = validRecords(entries);
  const results = await call(ctx, (db) => {
    const each = (type: DirectoryType, statement: DirectoryStatement) =>
      bindChunks(db, statement, organizationId, ofType(records, type));
    return [
      ...(recreatedBy ? [recordReturn(db, organizationId, recreatedBy)] : []),
      advanceClock(db, organizationId, message),
      ...each('organization', upsertRecords('organization')),
      ...each('company', upsertRecords('company')),
      ...each('user', retireServiceAccount),
      ...each('user', vacateEmails),
      ...each('user', upsertRecords('user')),
      ensureServiceAccount(db, organizationId),
      ...each('agreement', deactivateAgreements),
      ...each('agreement', upsertRecords('agreement')),
      ...each('ticket', upsertRecords('ticket')),
    ];
  });
  return results.reduce((total, { meta }) => total + meta.rows_written, 0);
}

interface Query {
  statement: DirectoryStatement;
  items: readonly unknown[];
}

/** Runs queries with lists of any length in one call. Results are in query order. */
async function query(ctx: DirectoryDatabase, organizationId: string, queries: readonly Query[]): Promise<FoundRow[][]> {
  const lengths = queries.map(({ items }) => Math.ceil(items.length / RECORDS_PER_STATEMENT));
  const results = await call(ctx, (db) =>
    queries.flatMap(({ statement, items }) => bindChunks(db, statement, organizationId, items)),
  );
  return lengths.map((length) => results.splice(0, length).flatMap(({ results: rows }) => rows));
}

/** All statements here are safe to repeat. */
function call<Row>(ctx: DirectoryDatabase, statements: (db: Database) => Statement<Row>[]): Promise<D1Result<Row>[]> {
  return sendBatch({ ...ctx, deadlineAt: Date.now() + CALL_DEADLINE_MS }, 'safe_to_repeat', statements);
}

const idsOf = (entries: readonly DirectoryEntry[]) => new Set(entries.map(({ type, id }) => `${type} ${id}`));
const validRecords = (entries: readonly DirectoryEntry[]) => entries.flatMap(({ record }) => record ?? []);
const ofType = (records: readonly DirectoryRecord[], type: DirectoryType) =>
  records.filter((record) => record.type === type);

/** The statement for each `RECORDS_PER_STATEMENT` of the items. */
function bindChunks(db: Database, statement: DirectoryStatement, organizationId: string, items: readonly unknown[]) {
  const length = Math.ceil(items.length / RECORDS_PER_STATEMENT);
  return Array.from({ length }, (_, i) => {
    const chunk = items.slice(i * RECORDS_PER_STATEMENT, (i + 1) * RECORDS_PER_STATEMENT);
    return statement(db, { organizationId, json: JSON.stringify(chunk) });
  });
}
