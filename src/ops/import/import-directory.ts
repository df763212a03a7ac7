import {
  conflicts,
  type DirectoryEntry,
  type DirectoryError,
  type ReadRecord,
  readRecord,
} from '../../domain/directory.ts';
import {
  type DirectoryDifference,
  findConflicts,
  findDifferences,
  writeRecords,
} from '../../services/directory/differences.ts';
import { readLines } from '../lines.ts';
import { jsonOf } from '../probe.ts';
import { RemoteD1 } from '../remote-d1.ts';

/** Longest line of a directory file; the longest right record is a twentieth of it. */
export const MAX_LINE_BYTES = 64 * 1024;
/** Most records of one organization in one file: they are written in one transaction. */
export const MAX_ORGANIZATION_RECORDS = 100_000;

interface ImportOptions {
  dryRun?: boolean;
  /** Whether organizations that were erased are created again. */
  recreate?: boolean;
  /** Called for each record that is about to be created or changed. */
  onChange?: (organization: string, change: DirectoryDifference) => void;
}

type ImportResult =
  | { ok: true; organizations: number; records: number; created: number; changed: number; rowsWritten: number }
  | { ok: false; errors: DirectoryError[] };

/**
 * Imports newline-delimited JSON (domain/directory.ts). The whole file is validated first: with an error,
 * nothing is written. Then each organization is written in one transaction, and only what differs, so
 * an import that was cut off is completed by the next. Records that are not in the file stay. The whole
 * file is in memory, because its organizations may be scattered over it: half a KiB for each record.
 * @throws ServiceError `being_erased`, `organization_erased` (without `recreate`)
 */
export async function importDirectory(
  db: D1Database,
  source: string | AsyncIterable<Uint8Array>,
  options: ImportOptions = {},
): Promise<ImportResult> {
  const { dryRun = false, recreate = false, onChange } = options;
  const ctx = { db, waitsForLock: !(db instanceof RemoteD1) };
  const { records, entriesOf, errors } = await readEntries(
    typeof source === 'string' ? new Blob([source]).stream() : source,
  );

  const outdated: [organization: string, entries: DirectoryEntry[]][] = [];
  for (const [organization, entries] of entriesOf) {
    errors.push(
      ...conflicts(entries, (line) => `on line ${line}`),
      ...(await findConflicts(ctx, organization, entries, { recreate })),
    );
    if (errors.length === 0 && (await findDifferences(ctx, organization, entries)).length > 0)
      outdated.push([organization, entries]);
  }
  if (errors.length > 0) return { ok: false, errors: errors.sort((a, b) => a.at - b.at) };

  const result = { ok: true as const, organizations: entriesOf.size, records, created: 0, changed: 0, rowsWritten: 0 };
  for (const [organization, entries] of outdated) {
    const changes = await findDifferences(ctx, organization, entries);
    for (const change of changes) {
      result[change.status] += 1;
      onChange?.(organization, change);
    }
    const recreatedBy = recreate ? 'operator' : undefined;
    if (!dryRun) result.rowsWritten += await writeRecords(ctx, organization, entries, { recreatedBy });
  }
  return result;
}

/** Checks every line without the others. Groups the entries by organization, in the order of the file. */
async function readEntries(
  chunks: AsyncIterable<Uint8Array>,
): Promise<{ records: number; entriesOf: Map<string, DirectoryEntry[]>; errors: DirectoryError[] }> {
  const errors: DirectoryError[] = [];
  const entriesOf = new Map<string, DirectoryEntry[]>();
  let records = 0;
  for await (const line of readLines(chunks, MAX_LINE_BYTES)) {
    if ('fault' in line) {
      const detail =
        line.fault === 'too_long'
          ? `the line is longer than ${MAX_LINE_BYTES} bytes`
          : 'the line holds bytes that are not UTF-8';
      errors.push({ at: line.line, subject: 'record', pointer: '', code: line.fault, detail });
      continue;
    }
    if (line.text.trim() === '') continue;
    records += 1;
    const read = readLine(line.text, line.line);
    errors.push(...read.errors);
    if (!read.entry || read.organization === undefined) continue;
    const entries = entriesOf.get(read.organization) ?? [];
    entriesOf.set(read.organization, entries);
    // One too many is kept, so that it is reported once.
    if (entries.length > MAX_ORGANIZATION_RECORDS) continue;
    entries.push(read.entry);
    if (entries.length > MAX_ORGANIZATION_RECORDS) errors.push(tooMany(read.organization, line.line));
  }
  return { records, entriesOf, errors };
}

function tooMany(organization: string, line: number): DirectoryError {
  const detail = `organization ${organization} has more than ${MAX_ORGANIZATION_RECORDS} records in this file, which are written in one transaction; put companies, users and agreements into a first file and the tickets into further ones`;
  return { at: line, subject: `organization ${organization}`, pointer: '', code: 'too_many_records', detail };
}

function readLine(text: string, at: number): ReadRecord {
  const value = jsonOf(text);
  if (value !== undefined) return readRecord(value, at);
  const detail = 'the line is not a JSON object';
  return { errors: [{ at, subject: 'record', pointer: '', code: 'malformed_json', detail }] };
}
