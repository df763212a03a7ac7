import { BYTE_ORDER_MARK, type CsvSeparator, csvLine } from '../../lib/csv.ts';
import type { AdminEnv, ContextOf } from '../context.ts';
import { todayOf } from './page-context.ts';
import { PageProblem } from './page-problem.ts';

type Cells = readonly (string | number | null)[];

/**
 * Streams a CSV file with one page of rows in memory at a time. If a page cannot be read, the
 * download fails, so that a truncated file never looks complete.
 */
export function csvDownload(
  name: string,
  headings: readonly string[],
  pages: AsyncIterator<readonly Cells[]>,
  separator: CsvSeparator = ',',
): Response {
  const line = (cells: Cells) => csvLine(cells, separator);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(BYTE_ORDER_MARK + line(headings))),
    async pull(controller) {
      const { done, value } = await pages.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value.map(line).join('')));
    },
  });
  return new Response(body, {
    headers: { 'Content-Type': 'text/csv; charset=utf-8', 'Content-Disposition': `attachment; filename="${name}"` },
  });
}

/** The name of a file: the organization, what the file contains, and the day. */
export function fileName(c: ContextOf<AdminEnv>, what: string): string {
  return `${c.get('administrator').organization.id}-${what}-${todayOf(c)}.csv`;
}

/**
 * The separator that the address names, or a comma.
 * @throws PageProblem if it names an unknown one
 */
export function readSeparator(c: ContextOf<AdminEnv>): CsvSeparator {
  const text = c.req.query('separator') ?? 'comma';
  if (text === 'comma') return ',';
  if (text === 'semicolon') return ';';
  throw new PageProblem(400, 'Invalid separator', 'The separator of a CSV file is either comma or semicolon.');
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
