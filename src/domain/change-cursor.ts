/** A position in an organization's audit log: after the row with this `seq`. */
export interface ChangeCursor {
  epoch: string;
  seq: number;
  /** The request that wrote the row. After a restore, another row may have the same `seq`. */
  requestId: string;
}

const CURSOR = /^([0-9a-f]{16})\.([1-9]\d{0,14})\.([\x21-\x7e]{1,64})$/;

export function formatCursor({ epoch, seq, requestId }: ChangeCursor): string {
  return `${epoch}.${seq}.${requestId}`;
}

export function parseCursor(text: string): ChangeCursor | undefined {
  const [, epoch, seq, requestId] = CURSOR.exec(text) ?? [];
  if (epoch === undefined || seq === undefined || requestId === undefined) return undefined;
  return { epoch, seq: Number(seq), requestId };
}
