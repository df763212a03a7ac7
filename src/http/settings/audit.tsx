import { type Context, Hono } from 'hono';
import type { Child } from 'hono/jsx';
import * as z from 'zod';
import { auditActionLabel } from '../../domain/audit-actions.ts';
import { addDays, startOfDate } from '../../domain/calendar.ts';
import {
  type AuditEntry,
  type AuditFilter,
  type AuditPage,
  exportAuditLog,
  listAuditAdministrators,
  readAuditLog,
  searchAuditLog,
  TEXT_LENGTH,
} from '../../services/audit/read-audit-log.ts';
import { findOwnKey, listKeysToChoose } from '../../services/keys/read-keys.ts';
import type { ExportPage } from '../../services/service-context.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { type Column, csvDownload, fileName } from './download.ts';
import { PageProblem } from './page-problem.ts';
import { AuditLogActions, AuditLogPage, type AuditQuery } from './pages/audit-log.tsx';
import { render } from './render-page.tsx';
import { shownEntries } from './shown-entries.ts';

export const audit = new Hono<AdminEnv>();

audit.get('/audit', async (c) => {
  const ctx = adminContext(c);
  const asked = readQuery(new URL(c.req.url).searchParams);
  const cursor = readCursor(c.req.query('before'));
  const wrongDates = findWrongDates(asked);
  const { query, filter, entries } = await resolveSearch(c, asked, wrongDates.length > 0);
  const found = entries ? { ...NOTHING, entries } : filter ? readAuditLog(ctx, filter, cursor) : NOTHING;
  const [page, keys, administrators, sections] = await Promise.all([
    found,
    listKeysToChoose(ctx),
    listAuditAdministrators(ctx),
    wrongDates.length > 0 ? [] : moduleSections(c, query),
  ]);
  // The list holds only the newest keys, and the selected key may be older.
  const older =
    query.key === undefined || keys.some(({ id }) => id === query.key) ? undefined : await findOwnKey(ctx, query.key);
  if (older) keys.push(older);
  const shown = {
    ...page,
    entries: shownEntries(c, page.entries, TEXT_LENGTH.page),
    isFirst: entries !== undefined || cursor === undefined,
  };
  return render(c, 'Audit log', <AuditLogPage {...{ ...shown, query, keys, administrators, wrongDates, sections }} />, {
    status: wrongDates.length > 0 ? 400 : 200,
    lead: <p class="minor">All writes of the keys, and all changes to the keys. Entries cannot be changed.</p>,
    actions: (page.entries.length > 0 || page.next !== undefined) && <AuditLogActions query={query} />,
  });
});

interface Search {
  query: AuditQuery;
  /** The entries that the search found, which no other filter applies to. */
  entries?: readonly AuditEntry[];
  /** The filter of the log, if there is none. */
  filter?: AuditFilter;
}

/** A search finds entries by an id, or else filters the log by a ticket. */
async function resolveSearch(c: Context<AdminEnv>, query: AuditQuery, isWrong: boolean): Promise<Search> {
  const { timeZone } = c.get('administrator').organization;
  if (query.q !== undefined) {
    const entries = await searchAuditLog(adminContext(c), query.q);
    if (entries) return { query: { q: query.q }, entries };
  }
  return isWrong ? { query } : { query, filter: toFilter(query, timeZone) };
}

function moduleSections(c: Context<AdminEnv>, query: AuditQuery): Promise<Child[]> {
  const { since, until } = toFilter(query, c.get('administrator').organization.timeZone);
  const selected = { since, until, search: query.q };
  return Promise.all(c.get('parts').flatMap(({ auditSection }) => auditSection?.(c, selected) ?? []));
}

const NOTHING: AuditPage = { entries: [], next: undefined, searchedTo: undefined };

const COLUMNS: readonly Column<AuditEntry>[] = [
  { time: 'Time', timeOf: ({ at }) => at },
  ['By', ({ actorName }) => actorName],
  ['Kind', ({ actorType }) => KINDS[actorType]],
  ['Key hint', ({ key }) => key?.hint ?? null],
  ['Action', ({ action }) => auditActionLabel(action)],
  ['Ticket', ({ ticketId }) => ticketId],
  ['Technician', ({ time }) => time?.technician ?? null],
  ['Minutes', ({ time }) => time?.minutes ?? null],
  ['Detail', ({ detail }) => detail],
  ['Record', ({ targetId }) => targetId],
  ['Request', ({ requestId }) => requestId],
  ['Idempotency-Key', ({ idempotencyKey }) => idempotencyKey],
  ['From', ({ sourceAddress }) => sourceAddress],
  ['User-Agent', ({ userAgent }) => userAgent],
  ['Text', ({ text, ticketId }) => text ?? (ticketId === null ? null : 'archived')],
];

const KINDS = { api_key: 'API key', user: 'User', system: 'System' };

audit.get('/audit.csv', async (c) => {
  const ctx = adminContext(c);
  const asked = readQuery(new URL(c.req.url).searchParams);
  const cursor = readCursor(c.req.query('before'));
  const { filter, entries = [] } = await resolveSearch(c, asked, false);
  const key = filter?.keyId === undefined ? undefined : await findOwnKey(ctx, filter.keyId);
  const name = fileName(c, key ? `audit-${slug(key.name)}` : 'audit');
  const pages = filter ? exportAuditLog(ctx, filter, cursor) : onePage(entries);
  return csvDownload(c, { name, columns: COLUMNS, pages: shownPages(c, pages) });
});

async function* onePage(items: readonly AuditEntry[]): AsyncGenerator<ExportPage<AuditEntry>> {
  yield { items, next: undefined };
}

async function* shownPages(c: Context<AdminEnv>, pages: AsyncIterable<ExportPage<AuditEntry>>) {
  for await (const { items, next } of pages) yield { items: shownEntries(c, items, TEXT_LENGTH.file), next };
}

/** A name in the letters and digits of a file name; the id stands for a name without any. */
const slug = (name: string) =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 60);

const FILTERS = ['q', 'ticket', 'by', 'key', 'action', 'from', 'to', 'since'] as const;

/** Reads the filters from the URL. */
function readQuery(parameters: URLSearchParams): AuditQuery {
  const query: AuditQuery = {};
  for (const name of FILTERS) query[name] = parameters.get(name)?.trim() || undefined;
  return query;
}

function toFilter({ q, ticket, by, key, action, from, to, since }: AuditQuery, timeZone: string): AuditFilter {
  const start = (date: string) => startOfDate(date, timeZone);
  return {
    administratorId: by,
    keyId: key,
    action,
    ticketId: q ?? ticket,
    since: since !== undefined ? requireTime(since) : from === undefined ? undefined : start(requireDate(from)),
    until: to === undefined ? undefined : start(addDays(requireDate(to), 1)),
  };
}

const findWrongDates = ({ from, to }: AuditQuery): string[] =>
  [from, to].filter((date) => date !== undefined).filter((date) => !isDate(date));

const isDate = (text: string) => z.iso.date().safeParse(text).success;

function requireDate(text: string): string {
  if (!isDate(text)) throw new PageProblem(400, 'Invalid date', 'Enter a calendar date, such as 2027-03-31.');
  return text;
}

function requireTime(text: string): number {
  if (!z.iso.datetime().safeParse(text).success)
    throw new PageProblem(400, 'Invalid time', 'Open the audit log again and choose a period there.');
  return Date.parse(text);
}

function readCursor(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text))
    throw new PageProblem(400, 'Invalid page', 'Open the audit log again and continue from there.');
  return Number(text);
}
