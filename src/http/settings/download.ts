import { BYTE_ORDER_MARK, type CsvSeparator, csvLine } from '../../lib/csv.ts';
import type { AdminEnv, ContextOf } from '../context.ts';
import { todayOf } from './page-context.ts';
import { PageProblem } from './page-problem.ts';

type Cells = readonly (string | number | null)[];

interface Download {
  /** What the file contains, for its name. */
  what: string;
  headings: readonly string[];
  pages: AsyncIterator<readonly Cells[]>;
}

/**
 * Streams a CSV file with one page of rows in memory at a time. If a page cannot be read, the
 * download fails, so that a truncated file never looks complete. The file is named after the
 * organization and the day.
 * @throws PageProblem if the address has an unknown `separator`
 */
export function csvDownload(c: ContextOf<AdminEnv>, { what, headings, pages }: Download): Response {
  const separator = readSeparator(c.req.query('separator'));
  const name = `${c.get('administrator').organization.id}-${what}-${todayOf(c)}.csv`;
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

function readSeparator(text = 'comma'): CsvSeparator {
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
