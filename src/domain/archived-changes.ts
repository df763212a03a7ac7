/** A part of an organization's changes that is an object in R2. */
export interface ArchivedChanges {
  /** The name of the object: gzip of lines of JSON, each a `Change`. */
  object: string;
  /** SHA-256 of the object in hex. */
  digest: string;
  /** Its size in bytes. */
  bytes: number;
  /** The `seq` of its first and its last change. */
  fromSeq: number;
  toSeq: number;
  /** Pass it to `changes` to continue after its last change. */
  cursor: string;
}
