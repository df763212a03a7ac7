import * as z from 'zod';
import { instant } from './change.ts';
import type { Delivery } from './response-shapes.ts';
import { parseStored } from './stored-json.ts';

/** What the database knows of a record's way to the PSA. Null `seq`s: there is none. Times are UTC milliseconds. */
interface Progress {
  writtenSeq: number | null;
  releasedSeq: number | null;
  confirmedSeq: number | null;
  /** The ranges of changes that operators skipped, as JSON; null for none. */
  skipped: string | null;
  refusedAt: number | null;
}

const skippedRanges = z.lazy(() => z.array(z.tuple([z.int(), z.int()])));

/**
 * Whether the PSA has a record. Undefined if the caller must not know (`writtenSeq` is null), and while the PSA confirms
 * nothing: no receiver is set (`isPushed`), and it has released nothing.
 */
export function deliveryOf(
  { writtenSeq: seq, releasedSeq, confirmedSeq, skipped, refusedAt }: Progress,
  isPushed: boolean,
): Delivery | undefined {
  if (seq === null || (!isPushed && releasedSeq === null)) return undefined;
  if (refusedAt !== null) return { state: 'refused', refusedAt: instant(refusedAt) };
  const ranges = parseStored(skippedRanges, skipped ?? '[]', 'the skipped ranges of a push');
  const isConfirmed = seq <= (confirmedSeq ?? 0) && !ranges.some(([from, to]) => from <= seq && seq <= to);
  return { state: isConfirmed || seq <= (releasedSeq ?? 0) ? 'handed_over' : 'stored' };
}
