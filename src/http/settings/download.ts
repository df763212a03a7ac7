import { BYTE_ORDER_MARK, type CsvSeparator, csvLine } from '../../lib/csv.ts';
import type { ExportPage } from '../../services/export-page.ts';
import type { AdminEnv, ContextOf } from '../context.ts';
import { todayOf } from './page-context.ts';
import { PageProblem } from './page-problem.ts';

type Cells = readonly (string | number | null)[];

/**
 * How many pages one file has at most. A page takes up to two queries, and an invocation may make
 * 1,000. A file of the audit log so has at most 1,000,000 entries, which a spreadsheet can open.
 */
export const MAX_PAGES = 400;

/** A CSV file: its name and headings, and its rows page by page. */
interface CsvFile<Item> {
  name: string;
  headings: readonly string[];
  pages: AsyncIterator<ExportPage<Item>>;
  toCells: (item: Item) => Cells;
  separator?: CsvSeparator;
}

/**
 * Streams a CSV file with one page of rows in memory at a time. If a page cannot be read, the
 * download fails, so that a truncated file never looks complete. If there is more than a file can
 * have, its last line has the address of the next one.
 */
export function csvDownload<Item>(
  c: ContextOf<AdminEnv>,
  { name, headings, pages, toCells, separator = ',' }: CsvFile<Item>,
): Response {
  const line = (cells: Cells) => csvLine(cells, separator);
  const encoder = new TextEncoder();
  let count = 0;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(BYTE_ORDER_MARK + line(headings))),
    async pull(controller) {
      const { done, value } = await pages.next();
      if (done) return controller.close();
      count += 1;
      const rest = count === MAX_PAGES ? value.next : undefined;
      const end = rest === undefined ? '' : line([`This file is full. Download the rest from ${addressOf(c, rest)}`]);
      controller.enqueue(encoder.encode(value.items.map((item) => line(toCells(item))).join('') + end));
      if (rest !== undefined) controller.close();
    },
  });
  return new Response(body, {
    headers: { 'Content-Type': 'text/csv; charset=utf-8', 'Content-Disposition': `attachment; filename="${name}"` },
  });
}

/** The address of the file that goes on at a cursor. */
function addressOf(c: ContextOf<AdminEnv>, cursor: string): string {
  const address = new URL(c.req.url);
  address.searchParams.set('before', cursor);
  return address.href;
}

/** The name of a file: the organization, what the file contains, where it goes on, and the day. */
export function fileName(c: ContextOf<AdminEnv>, what: string): string {
  const before = c.req.query('before');
  const part = before === undefined ? what : `${what}-before-${before.slice(0, 80).replaceAll(/[^\w-]/g, '-')}`;
  return `${c.get('administrator').organization.id}-${part}-${todayOf(c)}.csv`;
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
