import { Hono } from 'hono';
import * as z from 'zod';
import { AUDIT_ACTIONS } from '../../domain/audit-actions.ts';
import { addDays, startOfDate } from '../../domain/calendar.ts';
import type { SettingsEnv } from '../../env.ts';
import { type AuditFilter, type AuditRow, exportAuditLog, readAuditLog, searchAuditLog } from '../../services/audit/read-audit-log.ts';
import type { OrganizationContext } from '../../services/context.ts';
import { getKey, listKeys } from '../../services/keys/read-keys.ts';
import { listRefusedUses } from '../../services/keys/refused-uses.ts';
import { adminContext } from '../service-context.ts';
import { csvDownload, utc } from './download.ts';
import { PageProblem } from './page-problem.ts';
import { AuditLogPage, type AuditQuery } from './pages/audit-log.tsx';
import { RefusedUsesPage } from './pages/refused-uses.tsx';
import { placeOf } from './page-context.ts';
import { render } from './render.tsx';

/** The pages that show what happened. */
export const audit = new Hono<SettingsEnv>();

audit.get('/audit', async (c) => {
  const ctx = adminContext(c);
  const { query, selection } = readQuery(new URL(c.req.url).searchParams);
  const found =
    query.q === undefined
      ? readAuditLog(ctx, toFilter(query, c.get('administrator').organization.timeZone), readCursor(c.req.query('before')))
      : searchAuditLog(ctx, query.q).then((rows) => ({ rows, next: undefined }));
  const [page, { live, ended }] = await Promise.all([found, listKeys(ctx)]);
  const keys = [...live, ...ended];
  // The list is of the newest keys; the one that is chosen belongs to it however old it is.
  const older = query.key === undefined || keys.some(({ id }) => id === query.key) ? undefined : await getKey(ctx, query.key);
  if (older) keys.push(older);
  return render(c, 'Audit log', <AuditLogPage {...page} place={placeOf(c)} query={query} selection={selection} keys={keys} />);
});

const CSV_HEADINGS = [
  'Time (UTC)',
  'By',
  'Kind',
  'Key hint',
  'Action',
  'Ticket',
  'Technician',
  'Minutes',
  'Detail',
  'Record',
  'Request',
  'Idempotency-Key',
  'From',
  'User-Agent',
];

audit.get('/audit.csv', (c) => {
  const { query } = readQuery(new URL(c.req.url).searchParams);
  const ctx = adminContext(c);
  const pages =
    query.q === undefined ? exportAuditLog(ctx, toFilter(query, c.get('administrator').organization.timeZone)) : searchPages(ctx, query.q);
  return csvDownload('audit-log.csv', CSV_HEADINGS, auditLines(pages));
});

async function* searchPages(ctx: OrganizationContext, text: string) {
  yield await searchAuditLog(ctx, text);
}

const KINDS = { api_key: 'API key', user: 'User', system: 'System' };

async function* auditLines(pages: AsyncIterable<readonly AuditRow[]>) {
  for await (const page of pages) {
    yield page.map((row) => [
      utc(row.at),
      row.actorName,
      KINDS[row.actorType],
      row.keyHint,
      AUDIT_ACTIONS[row.action] ?? row.action,
      row.ticketId,
      row.technician,
      row.minutes,
      row.detail,
      row.targetId,
      row.requestId,
      row.idempotencyKey,
      row.sourceAddress,
      row.userAgent,
    ]);
  }
}

audit.get('/refused', async (c) => {
  const uses = await listRefusedUses(adminContext(c));
  return render(c, 'Refused uses', <RefusedUsesPage uses={uses} place={placeOf(c)} />);
});

const FILTERS = ['key', 'action', 'ticket', 'from', 'to', 'q'] as const;

/** The filters that an address holds, and the part of the address that repeats them. A search is for one thing in the whole log: no filter goes with it. */
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

function toFilter({ key, action, ticket, from, to }: AuditQuery, timeZone: string): AuditFilter {
  const start = (date: string) => startOfDate(date, timeZone);
  return {
    keyId: key,
    action,
    ticketId: ticket,
    since: from === undefined ? undefined : start(aDate(from)),
    until: to === undefined ? undefined : start(addDays(aDate(to), 1)),
  };
}

function aDate(text: string): string {
  if (!z.iso.date().safeParse(text).success) throw new PageProblem(400, 'No such date', 'Choose a day that exists, written as 2027-03-31.');
  return text;
}

function readCursor(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw new PageProblem(400, 'No such page', 'Open the audit log again and go on from there.');
  return Number(text);
}
