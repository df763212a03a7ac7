import { BYTE_ORDER_MARK, csvLine } from '../../lib/csv.ts';

type Cells = readonly (string | number | null)[];

/**
 * Streams a CSV file with one page of rows in memory at a time. If a page cannot be read, the
 * download fails, so that a truncated file never looks complete.
 */
export function csvDownload(
  name: string,
  headings: readonly string[],
  pages: AsyncIterator<readonly Cells[]>,
): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(BYTE_ORDER_MARK + csvLine(headings))),
    async pull(controller) {
      const { done, value } = await pages.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value.map(csvLine).join('')));
    },
  });
  return new Response(body, {
    headers: { 'Content-Type': 'text/csv; charset=utf-8', 'Content-Disposition': `attachment; filename="${name}"` },
  });
}

/** Formats a time (UTC milliseconds) as ISO 8601 in UTC, for a spreadsheet. */
export function utc(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
