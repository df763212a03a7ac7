import type { ArchiveRow } from '../../db/work/archives.ts';
import type { Change } from '../../domain/change.ts';
import { ServiceError } from '../../domain/errors.ts';
import { sha256, toHex } from '../../lib/bytes.ts';
import { gunzip, gzip } from '../../lib/gzip.ts';
import { type ArchiveContext, callBucket } from './bucket.ts';
import { objectName } from './object-names.ts';

/** An object of the archive before it is stored. */
export interface ArchiveFile {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
  digest: string;
}

/** Makes the object of a part of an organization's changes. */
export async function archiveFile(
  organization: string,
  { fromSeq, toSeq }: Pick<ArchiveRow, 'fromSeq' | 'toSeq'>,
  changes: readonly Change[],
): Promise<ArchiveFile> {
  const bytes = await gzip(changes.map((change) => `${JSON.stringify(change)}\n`).join(''));
  const digest = toHex(await sha256(bytes));
  return { name: objectName(organization, fromSeq, toSeq, digest), bytes, digest };
}

/** Stores an object. @throws ServiceError `unavailable` */
export function storeFile(ctx: ArchiveContext, { name, bytes, digest }: ArchiveFile): Promise<void> {
  return callBucket(ctx, (bucket) => bucket.put(name, bytes, digest));
}

/**
 * The lines of an archive as one text, after its digest was compared.
 * @throws ServiceError `unavailable`, also if the object is missing or is not the one that was stored
 */
export async function readArchive(
  ctx: ArchiveContext,
  { object, digest }: Pick<ArchiveRow, 'object' | 'digest'>,
): Promise<string> {
  const bytes = await callBucket(ctx, (bucket) => bucket.get(object));
  if (!bytes) throw damaged(`The object ${object} of the archive is missing.`);
  if (toHex(await sha256(bytes)) !== digest)
    throw damaged(`The object ${object} is not the one that was archived: its SHA-256 is another.`);
  return gunzip(bytes);
}

/** The changes in the text of an archive. */
export function parseArchive(text: string): Change[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Change => JSON.parse(line));
}

function damaged(what: string): ServiceError {
  return new ServiceError('unavailable', `${what} The operator can look at it with archive:check.`, {
    database: 'not_run',
  });
}
