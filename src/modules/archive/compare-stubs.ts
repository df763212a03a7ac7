import * as z from 'zod';
import type { ArchiveRow } from '../../db/work/archives.ts';
import { REDACTED } from '../../domain/change.ts';
import { RECORD_KIND_NAMES, RECORD_KINDS, type RecordKind } from '../../domain/record-kinds.ts';
import { readBatch } from '../../services/call-d1.ts';
import { toRecord } from '../../services/work/list-changes.ts';
import { digestOf } from '../../services/work/write-once.ts';
import { findStubs, type StubRow } from './archive-statements.ts';
import type { ArchiveContext } from './bucket.ts';
import type { ArchivedChange } from './segment.ts';

const text = () => z.object({ text: z.string() }).transform((value) => value.text);
/** The fields of the request that an archived record contains: all except the email address of the credited user. */
const REQUESTS = {
  note: z.lazy(() => z.object({ message: text() })),
  time_entry: z.lazy(() => z.object({ minutes: z.int(), description: text(), billable: z.boolean() })),
} satisfies Record<RecordKind, z.ZodType>;

/**
 * Whether changes are those of a segment, by what the database knows of it: each number once, and each record with
 * the fields and the request of its stub. The request of a redacted record cannot be compared. An entry whose user has
 * another email address now does not agree.
 * @throws ServiceError `unavailable`, DamagedData
 */
export async function isSegment(
  ctx: ArchiveContext,
  segment: ArchiveRow,
  changes: readonly ArchivedChange[],
): Promise<boolean> {
  const { fromSeq, toSeq } = segment;
  if (changes.length !== toSeq - fromSeq + 1 || changes.some(({ seq }, index) => seq !== fromSeq + index)) return false;
  const statements = RECORD_KIND_NAMES.map((kind) => findStubs[kind].bind(segment));
  const stubs = await readBatch(ctx, statements);
  for (const [index, kind] of RECORD_KIND_NAMES.entries()) {
    const byId = new Map(stubs[index]?.map((stub) => [stub.id, stub]));
    const records = changes.flatMap((change) => change[RECORD_KINDS[kind].changeField] ?? []);
    if (records.length !== byId.size) return false;
    for (const record of records) {
      const stub = byId.get(record.id.replaceAll('-', ''));
      if (!stub || !(await isRecord(kind, record, stub))) return false;
      byId.delete(stub.id);
    }
  }
  return true;
}

async function isRecord(kind: RecordKind, record: Record<string, unknown>, stub: StubRow): Promise<boolean> {
  const { requestDigest, email } = stub;
  const known = toRecord[kind](stub.record, `the stub ${stub.id}`);
  // An entry may have been reviewed since.
  const unknown = ['id', 'status', RECORD_KINDS[kind].textField];
  const isOther = ([field, value]: [string, unknown]) => !unknown.includes(field) && record[field] !== value;
  if (Object.entries(known).some(isOther)) return false;
  const body = REQUESTS[kind].safeParse(record).data;
  if (!body) return false;
  // A restored database does not know of the latest redactions.
  if (Object.values(body).includes(REDACTED)) return true;
  const bodies = [body, ...(email === null ? [] : [{ ...body, userEmail: email }])];
  const digests = await Promise.all(bodies.map((request) => digestOf(known.ticketId, request)));
  return digests.some((digest) => digest.startsWith(requestDigest));
}
