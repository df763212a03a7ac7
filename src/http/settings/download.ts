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

/** The headings of a time: in UTC and in the organization's time zone. */
export const timeHeadings = (name: string, timeZone: string) => [`${name} (UTC)`, `${name} (${timeZone})`];

/**
 * A time (UTC milliseconds) in UTC and in a time zone as `2026-11-21 21:33:04`, which spreadsheets
 * read as a time.
 */
export const timeCells = (at: number | null, timeZone: string) => [
  spreadsheetTime(at, 'UTC'),
  spreadsheetTime(at, timeZone),
];

function spreadsheetTime(at: number | null, timeZone: string): string | null {
  // Swedish dates have this format.
  return at === null
    ? null
    : new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone }).format(at);
}
