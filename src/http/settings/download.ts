import { fromMinorUnits } from '../../domain/money.ts';
import { BYTE_ORDER_MARK, type CsvCell, type CsvSeparator, csvLine } from '../../lib/csv.ts';
import type { ExportPage } from '../../services/service-context.ts';
import type { AdminEnv, ContextOf } from '../hono-env.ts';
import { takeFromLimit } from '../middleware/limits.ts';
import { retryAfter } from '../problems.ts';
import { todayOf } from './page-context.ts';
import { PageProblem } from './page-problem.ts';

/**
 * At most this many pages in a file. A page takes up to two queries, and an invocation may make 1,000. A file
 * of the audit log thus has at most 1,000,000 entries, which a spreadsheet can open.
 */
const MAX_PAGES = 400;

/** A column of a CSV file. A time (UTC milliseconds) takes two: in UTC and in the organization's time zone. */
export type Column<Row> =
  | readonly [heading: string, cell: (row: Row) => CsvCell]
  | { time: string; timeOf: (row: Row) => number | null };

/** An amount in minor units as a cell, which is empty for null. */
export const amountCell = (minor: number | null): CsvCell =>
  minor === null ? null : { amount: fromMinorUnits(minor) };

interface CsvFile<Row> {
  name: string;
  columns: readonly Column<Row>[];
  pages: AsyncIterator<ExportPage<Row>>;
}

/**
 * Streams a CSV file with one page of rows in memory at a time. If a later page than the first cannot be read, the
 * download fails, so that a truncated file never looks complete. The last line of a full file contains the address of the next one.
 * @throws PageProblem if the organization has started to download a file of this list within 10 seconds: nothing was read then; and
 *   whatever the first page throws
 */
export async function csvDownload<Row>(
  c: ContextOf<AdminEnv>,
  { name, columns, pages }: CsvFile<Row>,
): Promise<Response> {
  const separator = readSeparator(c);
  await requirePause(c);
  let first: IteratorResult<ExportPage<Row>> | undefined = await pages.next();
  const { timeZone } = c.get('administrator').organization;
  const headings = columns.flatMap((column) =>
    'timeOf' in column ? [`${column.time} (UTC)`, `${column.time} (${timeZone})`] : [column[0]],
  );
  const toTimes = timeCellsIn(timeZone);
  const toCells = (row: Row): CsvCell[] =>
    columns.flatMap<CsvCell>((column) => ('timeOf' in column ? toTimes(column.timeOf(row)) : column[1](row)));
  const line = (cells: readonly CsvCell[]) => csvLine(cells, separator);
  const encoder = new TextEncoder();
  let count = 0;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(BYTE_ORDER_MARK + line(headings))),
    async pull(controller) {
      const { done, value } = first ?? (await pages.next());
      first = undefined;
      if (done) return controller.close();
      count += 1;
      const rest = count === MAX_PAGES ? value.next : undefined;
      const end = rest === undefined ? '' : line([`This file is full. Download the rest from ${addressOf(c, rest)}`]);
      controller.enqueue(encoder.encode(value.items.map((row) => line(toCells(row))).join('') + end));
      if (rest !== undefined) controller.close();
    },
  });
  return new Response(body, {
    headers: { 'Content-Type': 'text/csv; charset=utf-8', 'Content-Disposition': `attachment; filename="${name}"` },
  });
}

/** A large download takes seconds of CPU, and many queries. */
const DOWNLOADS = { quota: 1, windowMs: 10_000 };

async function requirePause(c: ContextOf<AdminEnv>): Promise<void> {
  const { id } = c.get('administrator').organization;
  const file = c.req.path.split('/').at(-1);
  const applied = await takeFromLimit(c, { name: 'export', subject: `${id}:${file}`, requestLimit: DOWNLOADS });
  if (!applied || applied.decision.admitted) return;
  const detail = `Your organization can download one such file every 10 seconds. Download it after ${retryAfter(applied.decision.retryAfterMs)} s.`;
  throw new PageProblem(429, 'A file was just downloaded here', detail);
}

/** The address of the file that continues at a cursor. */
function addressOf(c: ContextOf<AdminEnv>, cursor: string): string {
  const address = new URL(c.req.url);
  address.searchParams.set('before', cursor);
  return address.href;
}

/** The organization, the content, the cursor if the file continues another one, and the day. */
export function fileName(c: ContextOf<AdminEnv>, what: string): string {
  const before = c.req.query('before');
  const part = before === undefined ? what : `${what}-before-${before.slice(0, 80).replaceAll(/[^\w-]/g, '-')}`;
  return `${c.get('administrator').organization.id}-${part}-${todayOf(c)}.csv`;
}

/** Whether the first language of the browser writes 1,5: then Excel expects semicolons. */
function hasDecimalComma(languages = ''): boolean {
  const [first = 'en'] = /^[a-z]{2,3}(-[A-Z]{2})?\b/.exec(languages) ?? [];
  return new Intl.NumberFormat(first).format(1.5).includes(',');
}

function readSeparator(c: ContextOf<AdminEnv>): CsvSeparator {
  const text = c.req.query('separator') ?? (hasDecimalComma(c.req.header('Accept-Language')) ? 'semicolon' : 'comma');
  if (text === 'comma') return ',';
  if (text === 'semicolon') return ';';
  throw new PageProblem(400, 'Invalid separator', 'The separator of a CSV file is either comma or semicolon.');
}

/** The offset of a time zone from UTC changes only at quarter hours. */
const SAME_OFFSET_MS = 15 * 60_000;

/**
 * Writes times as `2026-11-21 21:33:04`, which spreadsheets read as a time. One formatter, and one offset for
 * all times of a quarter hour: a formatter for each cell would take most of the time of an export.
 */
function timeCellsIn(timeZone: string): (at: number | null) => CsvCell[] {
  // Swedish dates have this format.
  const local = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone });
  let [quarter, offset] = [Number.NaN, 0];
  return (at) => {
    if (at === null) return [null, null];
    const start = Math.floor(at / SAME_OFFSET_MS) * SAME_OFFSET_MS;
    if (start !== quarter) [quarter, offset] = [start, Date.parse(`${local.format(start).replace(' ', 'T')}Z`) - start];
    return [spreadsheetTime(at), spreadsheetTime(at + offset)];
  };
}

/** A time in UTC as `2026-11-21 21:33:04`. */
const spreadsheetTime = (at: number) => new Date(at).toISOString().slice(0, 19).replace('T', ' ');
