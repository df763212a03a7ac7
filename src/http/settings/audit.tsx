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
} from '../../services/audit/read-audit-log.ts';
import { findOwnKey, listKeysToChoose } from '../../services/keys/read-keys.ts';
import type { ActorContext, AdminActor, ExportPage } from '../../services/service-context.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { type Column, csvDownload, fileName } from './download.ts';
import { PageProblem } from './page-problem.ts';
import { AuditLogPage, type AuditQuery } from './pages/audit-log.tsx';
import { recordTexts } from './record-texts.ts';
import { render } from './render-page.tsx';

const SHOWN_TEXT = 2_000;

export const audit = new Hono<AdminEnv>();

audit.get('/audit', async (c) => {
  const ctx = adminContext(c);
  const { query, selection } = readQuery(new URL(c.req.url).searchParams);
  const cursor = readCursor(c.req.query('before'));
  const wrongDates = query.q === undefined ? findWrongDates(query) : [];
  const found =
    wrongDates.length > 0 ? NOTHING : readPage(ctx, query, c.get('administrator').organization.timeZone, cursor);
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
  return render(
    c,
    'Audit log',
    <AuditLogPage
      {...page}
      query={query}
      selection={selection}
      isFirst={query.q !== undefined || cursor === undefined}
      keys={keys}
      administrators={administrators}
      texts={await recordTexts(c, page.entries, SHOWN_TEXT)}
      wrongDates={wrongDates}
      sections={sections}
    />,
    { status: wrongDates.length > 0 ? 400 : 200 },
  );
});

function moduleSections(c: Context<AdminEnv>, query: AuditQuery): Promise<Child[]> {
  const { since, until } = toFilter(query, c.get('administrator').organization.timeZone);
  const selected = { since, until, search: query.q };
  return Promise.all(c.get('parts').flatMap(({ auditSection }) => auditSection?.(c, selected) ?? []));
}

const NOTHING: AuditPage = { entries: [], next: undefined, searchedTo: undefined };

async function readPage(
  ctx: ActorContext<AdminActor>,
  query: AuditQuery,
  timeZone: string,
  cursor: number | undefined,
): Promise<AuditPage> {
  if (query.q === undefined) return readAuditLog(ctx, toFilter(query, timeZone), cursor);
  return { ...NOTHING, entries: await searchAuditLog(ctx, query.q) };
}

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
];

const KINDS = { api_key: 'API key', user: 'User', system: 'System' };

audit.get('/audit.csv', (c) => {
  const { query } = readQuery(new URL(c.req.url).searchParams);
  const ctx = adminContext(c);
  const filter = toFilter(query, c.get('administrator').organization.timeZone);
  const cursor = readCursor(c.req.query('before'));
  const pages = query.q === undefined ? exportAuditLog(ctx, filter, cursor) : searchPages(ctx, query.q);
  return csvDownload(c, { name: fileName(c, 'audit'), columns: COLUMNS, pages });
});

async function* searchPages(ctx: ActorContext<AdminActor>, text: string): AsyncGenerator<ExportPage<AuditEntry>> {
  yield { items: await searchAuditLog(ctx, text), next: undefined };
}

const FILTERS = ['by', 'key', 'action', 'ticket', 'from', 'to', 'q'] as const;

/** Reads the filters from the URL, and a query string to link to them. `q` excludes the others. */
function readQuery(parameters: URLSearchParams): { query: AuditQuery; selection: string } {
  const query: AuditQuery = {};
  const selection = new URLSearchParams();
  for (const name of parameters.get('q')?.trim() ? (['q'] as const) : FILTERS) {
    const value = parameters.get(name)?.trim();
    if (!value) continue;
    query[name] = value;
    selection.set(name, value);
  }
  return { query, selection: selection.toString() };
}

function toFilter({ by, key, action, ticket, from, to }: AuditQuery, timeZone: string): AuditFilter {
  const start = (date: string) => startOfDate(date, timeZone);
  return {
    administratorId: by,
    keyId: key,
    action,
    ticketId: ticket,
    since: from === undefined ? undefined : start(requireDate(from)),
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

function readCursor(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text))
    throw new PageProblem(400, 'Invalid page', 'Open the audit log again and continue from there.');
  return Number(text);
}
