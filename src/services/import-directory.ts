import {
  DIRECTORY_TABLES,
  ENSURE_SERVICE_ACCOUNT,
  EXISTING_COMPANIES,
  EXISTING_ORGANIZATIONS,
  RELEASE_AGREEMENTS,
  RELEASE_USERS,
  RETIRE_SERVICE_ACCOUNT,
  UPSERT_ORGANIZATION,
  upsertRecords,
} from '../db/directory.ts';
import { type DirectoryError, type DirectoryLine, type DirectoryRecord, parseDirectory } from '../domain/directory.ts';

/** Records that one statement carries: with the longest names still well under D1's 2 MB for a bound value. */
const RECORDS_PER_STATEMENT = 1_000;

export type ImportResult = { ok: true; records: number; rowsWritten: number } | { ok: false; errors: DirectoryError[] };

/**
 * Imports a directory of organizations, users, companies, agreements and tickets (newline-delimited JSON, see domain/directory.ts).
 * The whole file is validated first; if anything is wrong, every error is returned and nothing is written. Then each organization is
 * written in one transaction. Records that exist are updated, those that are not in the file stay as they are, and importing the same
 * file again writes nothing.
 */
export async function importDirectory(db: D1Database, text: string): Promise<ImportResult> {
  const { lines, errors } = parseDirectory(text);
  if (errors.length === 0) errors.push(...(await missingReferences(db, lines)));
  if (errors.length > 0) return { ok: false, errors };

  let rowsWritten = 0;
  for (const [organization, records] of Map.groupBy(
    lines.map(({ record }) => record),
    ownerOf,
  )) {
    const results = await db.batch(organizationStatements(db, organization, records));
    for (const { meta } of results) rowsWritten += meta.rows_written;
  }
  return { ok: true, records: lines.length, rowsWritten };
}

function ownerOf(record: DirectoryRecord): string {
  return record.type === 'organization' ? record.id : record.organization;
}

function organizationStatements(db: D1Database, organization: string, records: DirectoryRecord[]): D1PreparedStatement[] {
  const chunks = (type: DirectoryRecord['type']) => {
    const ofType = records.filter((record) => record.type === type);
    const starts = Array.from({ length: Math.ceil(ofType.length / RECORDS_PER_STATEMENT) }, (_, i) => i * RECORDS_PER_STATEMENT);
    return starts.map((start) => JSON.stringify(ofType.slice(start, start + RECORDS_PER_STATEMENT)));
  };
  const each = (type: keyof typeof DIRECTORY_TABLES, sql: string) => chunks(type).map((json) => db.prepare(sql).bind(organization, json));
  const upsert = (type: keyof typeof DIRECTORY_TABLES) => each(type, upsertRecords(DIRECTORY_TABLES[type]));
  return [
    ...chunks('organization').map((json) => db.prepare(UPSERT_ORGANIZATION).bind(json)),
    ...upsert('company'),
    ...each('user', RETIRE_SERVICE_ACCOUNT),
    ...each('user', RELEASE_USERS),
    ...upsert('user'),
    db.prepare(ENSURE_SERVICE_ACCOUNT).bind(organization),
    ...each('agreement', RELEASE_AGREEMENTS),
    ...upsert('agreement'),
    ...upsert('ticket'),
  ];
}

/** References to organizations and companies that are neither in the file nor in the database. */
async function missingReferences(db: D1Database, lines: DirectoryLine[]): Promise<DirectoryError[]> {
  const key = (...ids: string[]) => JSON.stringify(ids);
  const known = new Set<string>();
  for (const { record } of lines) {
    if (record.type === 'organization') known.add(key(record.id));
    if (record.type === 'company') known.add(key(record.organization, record.id));
  }
  const references = lines.flatMap(({ line, record }) => {
    if (record.type === 'organization') return [];
    const at = { line, subject: `${record.type} ${record.id}`, code: 'unknown_reference' };
    const { organization } = record;
    const organizationReference = {
      ...at,
      ids: [organization],
      pointer: '/organization',
      detail: `organization ${organization} is neither in the file nor in the database`,
    };
    if (record.type === 'user' || record.type === 'company') return [organizationReference];
    const { company } = record;
    return [
      organizationReference,
      {
        ...at,
        ids: [organization, company],
        pointer: '/company',
        detail: `company ${company} of organization ${organization} is neither in the file nor in the database`,
      },
    ];
  });
  let open = references.filter(({ ids }) => !known.has(key(...ids)));
  if (open.length === 0) return [];

  for (let start = 0; start < open.length; start += RECORDS_PER_STATEMENT) {
    const some = open.slice(start, start + RECORDS_PER_STATEMENT).map(({ ids }) => ids);
    const [organizations, companies] = await Promise.all([
      db
        .prepare(EXISTING_ORGANIZATIONS)
        .bind(JSON.stringify(some.map(([organization]) => organization)))
        .all<{ id: string }>(),
      db.prepare(EXISTING_COMPANIES).bind(JSON.stringify(some)).all<{ organization: string; id: string }>(),
    ]);
    for (const { id } of organizations.results) known.add(key(id));
    for (const { organization, id } of companies.results) known.add(key(organization, id));
  }
  open = open.filter(({ ids }) => !known.has(key(...ids)));
  return open.map(({ ids: _, ...error }) => error);
}
