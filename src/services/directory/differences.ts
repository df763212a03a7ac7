import * as z from 'zod';
import { callD1 } from '../../db/client.ts';
import {
  differingRecords,
  ENSURE_SERVICE_ACCOUNT,
  EXISTING_COMPANIES,
  FIND_ORGANIZATIONS,
  type FoundRow,
  HELD_COMPANIES,
  HELD_EMAILS,
  RELEASE_AGREEMENTS,
  RELEASE_USERS,
  RETIRE_SERVICE_ACCOUNT,
  upsertRecords,
} from '../../db/directory/records.ts';
import {
  BUILT_IN_SERVICE_ACCOUNT,
  DIRECTORY_TYPES,
  type DirectoryEntry,
  type DirectoryError,
  type DirectoryRecord,
  type DirectoryType,
  entryError,
} from '../../domain/directory.ts';

// The part of an import that concerns one organization: what would change, what stands against it, and the transaction that does it.

/** Records that one statement carries: with the longest names still well under the 2 MB that D1 allows for a bound value. */
const RECORDS_PER_STATEMENT = 1_000;
/** How long one call may take: a transaction of the largest organization takes a few seconds. */
const CALL_DEADLINE_MS = 60_000;

/** A record that the database has not yet, or has otherwise: then `before` holds its present values by field. */
export interface DirectoryChange {
  type: DirectoryType;
  id: string;
  before: Record<string, string | number> | null;
  after: Record<string, unknown>;
}

const beforeShape = z.record(z.string(), z.union([z.string(), z.number()]));

/** Which of the organization's records an import would create or change, the service account that it does without being told included. */
export async function findChanges(db: D1Database, organization: string, entries: readonly DirectoryEntry[]): Promise<DirectoryChange[]> {
  const records = sound(entries);
  const [organizations = [], ...differing] = await ask(db, organization, [
    { sql: FIND_ORGANIZATIONS, about: [organization] },
    ...DIRECTORY_TYPES.map((type) => ({ sql: differingRecords(type), about: ofType(records, type) })),
  ]);
  const byId = new Map(records.map((record) => [`${record.type} ${record.id}`, record]));
  const changes = DIRECTORY_TYPES.flatMap((type, index) =>
    (differing[index] ?? []).map(({ id, found }): DirectoryChange => {
      const before = found === null ? null : beforeShape.parse(JSON.parse(found));
      return { type, id, before, after: { ...byId.get(`${type} ${id}`) } };
    }),
  );

  const users = records.filter((record) => record.type === 'user');
  const named = users.some(({ service }) => service);
  const present = organizations[0]?.found ?? null;
  const presentStays = present !== null && !users.some(({ id }) => id === present);
  if (named && presentStays) {
    changes.push({ type: 'user', id: present, before: { service: 1, active: 1 }, after: { service: false, active: false } });
  }
  if (!named && !presentStays) {
    changes.push({ type: 'user', id: BUILT_IN_SERVICE_ACCOUNT, before: null, after: { service: true, active: true } });
  }
  return changes;
}

/** What stands against importing the records: references to what is nowhere, and unique values that records left as they are hold. */
export async function findObstacles(db: D1Database, organization: string, entries: readonly DirectoryEntry[]): Promise<DirectoryError[]> {
  const records = sound(entries);
  const here = new Set(entries.map(({ type, id }) => `${type} ${id}`));
  const elsewhere = new Set(
    records.flatMap((record) => ('company' in record && !here.has(`company ${record.company}`) ? record.company : [])),
  );
  const [organizations = [], companies = [], emails = [], agreements = []] = await ask(db, organization, [
    { sql: FIND_ORGANIZATIONS, about: [organization] },
    { sql: EXISTING_COMPANIES, about: [...elsewhere] },
    { sql: HELD_EMAILS, about: ofType(records, 'user') },
    { sql: HELD_COMPANIES, about: ofType(records, 'agreement') },
  ]);
  if (organizations.length === 0 && !here.has(`organization ${organization}`)) {
    const detail = `organization ${organization} is neither among these records nor in the database`;
    return entries.map((entry) => entryError(entry, '/organization', 'unknown_reference', detail));
  }

  for (const { id } of companies) elsewhere.delete(id);
  // Whoever is among the records gets the values that stand there; only those who are not keep theirs.
  const emailHolders = new Map(emails.filter(({ found }) => !here.has(`user ${found}`)).map(({ id, found }) => [id, found]));
  const activeAgreements = new Map(agreements.filter(({ found }) => !here.has(`agreement ${found}`)).map(({ id, found }) => [id, found]));
  return entries.flatMap((entry) => {
    const { record } = entry;
    const errors: DirectoryError[] = [];
    if (record && 'company' in record && elsewhere.has(record.company)) {
      const detail = `company ${record.company} of organization ${organization} is neither among these records nor in the database`;
      errors.push(entryError(entry, '/company', 'unknown_reference', detail));
    }
    if (record?.type === 'user' && emailHolders.has(record.email)) {
      const detail = `email ${record.email} is that of user ${emailHolders.get(record.email)}, who is not among these records`;
      errors.push(entryError(entry, '/email', 'conflict', detail));
    }
    if (record?.type === 'agreement' && record.active && activeAgreements.has(record.company)) {
      const detail = `company ${record.company} has the active agreement ${activeAgreements.get(record.company)}, which is not among these records; end it with them`;
      errors.push(entryError(entry, '/active', 'conflict', detail));
    }
    return errors;
  });
}

/** Writes what differs in one transaction: all of the organization's records or none. Returns the rows written. */
export async function writeChanges(
  db: D1Database,
  organization: string,
  entries: readonly DirectoryEntry[],
  changes: readonly DirectoryChange[],
): Promise<number> {
  const differing = new Set(changes.map(({ type, id }) => `${type} ${id}`));
  const records = sound(entries).filter(({ type, id }) => differing.has(`${type} ${id}`));
  const each = (type: DirectoryType, sql: string) =>
    chunks(ofType(records, type)).map((some) => db.prepare(sql).bind(organization, JSON.stringify(some)));
  const statements = [
    ...each('organization', upsertRecords('organization')),
    ...each('company', upsertRecords('company')),
    ...each('user', RETIRE_SERVICE_ACCOUNT),
    ...each('user', RELEASE_USERS),
    ...each('user', upsertRecords('user')),
    db.prepare(ENSURE_SERVICE_ACCOUNT).bind(organization),
    ...each('agreement', RELEASE_AGREEMENTS),
    ...each('agreement', upsertRecords('agreement')),
    ...each('ticket', upsertRecords('ticket')),
  ];
  const results = await call(() => db.batch(statements));
  return results.reduce((total, { meta }) => total + meta.rows_written, 0);
}

interface Question {
  sql: string;
  about: readonly unknown[];
}

/** Asks questions about lists of any length in one call; each gets its answer in its place. */
async function ask(db: D1Database, organization: string, questions: readonly Question[]): Promise<FoundRow[][]> {
  const parts = questions.flatMap(({ sql, about }, index) => chunks(about).map((some) => ({ sql, some, index })));
  const results = await call(() =>
    db.batch<FoundRow>(parts.map(({ sql, some }) => db.prepare(sql).bind(organization, JSON.stringify(some)))),
  );
  const answers: FoundRow[][] = questions.map(() => []);
  for (const [part, { results: rows }] of results.entries()) {
    const { index } = parts[part] ?? {};
    if (index !== undefined) answers[index]?.push(...rows);
  }
  return answers;
}

/** Everything here may be repeated without harm. */
const call = <T>(run: () => Promise<T>) => callD1({ deadlineAt: Date.now() + CALL_DEADLINE_MS }, run);

const sound = (entries: readonly DirectoryEntry[]) => entries.flatMap(({ record }) => record ?? []);
const ofType = (records: readonly DirectoryRecord[], type: DirectoryType) => records.filter((record) => record.type === type);

function chunks<T>(list: readonly T[]): T[][] {
  const starts = Array.from({ length: Math.ceil(list.length / RECORDS_PER_STATEMENT) }, (_, i) => i * RECORDS_PER_STATEMENT);
  return starts.map((start) => list.slice(start, start + RECORDS_PER_STATEMENT));
}
