import { type Context, Hono } from 'hono';
import * as z from 'zod/mini';
import { AUDIT_TEXT_LENGTH, auditActionLabel } from '../../domain/audit-actions.ts';
import { addDays, startOfDate } from '../../domain/calendar.ts';
import { calendarDate, MAX_TEXT_LENGTH, wholeNumber } from '../../domain/fields.ts';
import { KEPT_OF_KEY } from '../../domain/refused-request.ts';
import {
  type AuditEntry,
  type AuditFilter,
  type AuditPage,
  exportAuditLog,
  listAuditAdministrators,
  MAX_COUNTED_ENTRIES,
  readAuditLog,
} from '../../services/audit/read-audit-log.ts';
import { findOwnKey, type KeyDetails, listKeysToChoose } from '../../services/keys/read-keys.ts';
import { listRefusedRequests, type RefusedRequest } from '../../services/keys/refused-requests.ts';
import type { AdminContext, ExportPage } from '../../services/service-context.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { amountCell, type Column, csvDownload, fileName } from './download.ts';
import { addressOf, pageContext, usePage } from './page-context.ts';
import { AuditEntries, canDecide, cutText, type ShownEntry } from './pages/audit-entries.tsx';
import { AuditFilters, type AuditQuery, isFiltered } from './pages/audit-filters.tsx';
import { Banner, CsvLink, formatNumber, NotRecorded } from './pages/components.tsx';
import { RefusedRequestsTable } from './pages/refused-requests-table.tsx';
import { Time } from './pages/time.tsx';
import { render } from './render-page.tsx';
import { shownEntries } from './shown-entries.ts';
import { isRequestId, searchedId, validQuery } from './valid-query.ts';

export const audit = new Hono<AdminEnv>();

/** How many characters of a text the page shows, except for a search by an id, which shows all. */
const SHOWN_TEXT = 2_000;

const text = () => z.optional(z.string().check(z.trim()));
const addressShape = z.lazy(() =>
  z.object({
    /** A ticket, also as `#1003`, a record id, a request id or an Idempotency-Key. */
    q: z.optional(z.string().check(z.overwrite(searchedId))),
    /** Only in links. */
    ticket: text(),
    by: text(),
    key: text(),
    action: text(),
    from: calendarDate('From'),
    to: calendarDate('To'),
    minutes: wholeNumber('Minutes'),
    /** The place of the first entry of the page, from 1 on. Only in links. */
    nth: wholeNumber('Before'),
    before: wholeNumber('Before'),
  }),
);

type Address = z.infer<typeof addressShape>;

const validAddress = validQuery(addressShape);

function readQuery(address: Address, timeZone: string) {
  const { before: cursor, nth = cursor === undefined ? 1 : undefined, ...asked } = address;
  const { q, ticket, by, key, action, minutes, from, to } = asked;
  const filter: AuditFilter = {
    search: q,
    ticketId: ticket,
    administratorId: by,
    keyId: key,
    action,
    minutes,
    since: from === undefined ? undefined : startOfDate(from, timeZone),
    until: to === undefined ? undefined : startOfDate(addDays(to, 1), timeZone),
  };
  return { asked, filter, cursor, nth };
}

audit.get('/audit', validAddress, async (c) => {
  const ctx = adminContext(c);
  const { asked, filter, cursor, nth } = readQuery(c.req.valid('query'), c.get('administrator').organization.timeZone);
  const [page, keys, administrators] = await Promise.all([
    readAuditLog(ctx, filter, cursor),
    listKeysToChoose(ctx),
    listAuditAdministrators(ctx),
  ]);
  const shown = {
    ...page,
    refused: cursor === undefined ? await findRefused(ctx, page, asked) : undefined,
    query: page.isById ? { q: asked.q } : asked,
    entries: shownEntries(c, page.entries, page.isById ? MAX_TEXT_LENGTH : SHOWN_TEXT),
    isFirst: cursor === undefined,
    nth,
    ...{ keys, administrators },
  };
  return render(c, 'Audit log', <AuditLogPage {...shown} />, {
    lead: (
      <p class="minor">
        All writes, decisions about time, and changes to keys and key rules. Entries cannot be changed.
      </p>
    ),
    actions: <CsvLink to={addressOf(`${pageContext(c).base}/audit.csv`, shown.query)} />,
  });
});

/** The refused requests that a search is about: they have no entry. */
interface Refused {
  requests: readonly RefusedRequest[];
  /** Their ticket, unless the search was for the id of one request. */
  ticketId?: string;
}

async function findRefused(ctx: AdminContext, page: AuditPage, asked: AuditQuery): Promise<Refused | undefined> {
  const { q, key, by, action, minutes } = asked;
  const isUnknown = page.isById && page.entries.length === 0;
  if (isUnknown && q !== undefined && isRequestId(q)) return listRefusedRequests(ctx, { requestId: q.toLowerCase() });
  const ticketId = asked.ticket ?? (isUnknown || !page.isById ? q : undefined);
  const isOfOthers = by !== undefined || action !== undefined || minutes !== undefined;
  if (ticketId === undefined || isOfOthers) return undefined;
  const { requests } = await listRefusedRequests(ctx, { ticketId, keyId: key });
  return { requests, ticketId };
}

const COLUMNS: readonly Column<ShownEntry>[] = [
  { time: 'Time', timeOf: ({ at }) => at },
  ['By', ({ actorName }) => actorName],
  ['Kind', ({ actorType }) => KINDS[actorType]],
  ['Key hint', ({ key }) => key?.hint ?? null],
  ['Action', ({ action }) => auditActionLabel(action)],
  ['Ticket', ({ ticketId }) => ticketId],
  ['Technician', ({ time }) => time?.technician ?? null],
  ['Minutes', ({ time }) => time?.minutes ?? null],
  ['Billable', ({ time }) => time && (time.billable ? 'yes' : 'no')],
  ['Rate', ({ time }) => time && amountCell(time.hourlyRateMinor)],
  ['Status', ({ time }) => time?.status ?? null],
  ['Detail', ({ detail }) => detail],
  ['Record', ({ targetId }) => targetId],
  ['Request', ({ requestId }) => requestId],
  ['Idempotency-Key', ({ idempotencyKey }) => idempotencyKey],
  ['From', ({ sourceAddress }) => sourceAddress],
  ['User-Agent', ({ userAgent }) => userAgent],
  ['Text cut', (entry) => cutText(entry, AUDIT_TEXT_LENGTH)],
  ['Text', ({ text }) => text],
];

const KINDS = { api_key: 'API key', user: 'User', system: 'System' };

audit.get('/audit.csv', validAddress, async (c) => {
  const ctx = adminContext(c);
  const { filter, cursor } = readQuery(c.req.valid('query'), c.get('administrator').organization.timeZone);
  const key = filter.keyId === undefined ? undefined : await findOwnKey(ctx, filter.keyId);
  const name = fileName(c, key ? `audit-${slug(key.name) || key.id}` : 'audit');
  return csvDownload(c, { name, columns: COLUMNS, pages: shownPages(c, exportAuditLog(ctx, filter, cursor)) });
});

async function* shownPages(c: Context<AdminEnv>, pages: AsyncIterable<ExportPage<AuditEntry>>) {
  for await (const { items, next } of pages) yield { items: shownEntries(c, items, AUDIT_TEXT_LENGTH), next };
}

/** A name in the letters and digits of a file name; empty for a name without any. */
const slug = (name: string) =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 60);

interface Props extends Omit<AuditPage, 'entries'> {
  entries: readonly ShownEntry[];
  refused: Refused | undefined;
  query: AuditQuery;
  keys: readonly KeyDetails[];
  administrators: Awaited<ReturnType<typeof listAuditAdministrators>>;
  /** Whether the page begins with the newest entry. */
  isFirst: boolean;
  /** The place of its first entry, from 1 on, if that is known. */
  nth: number | undefined;
}

/** The audit log, newest entries first. */
function AuditLogPage(props: Props) {
  const { base } = usePage();
  const { query, entries, refused, next, searchedTo, isFirst, nth } = props;
  // The only entry, and time to decide that a search for long time found.
  const isOpen = (entry: AuditEntry) =>
    (isFiltered(query) && entries.length === 1) || (query.minutes !== undefined && canDecide(entry));
  const hasRefused = refused !== undefined && refused.requests.length > 0;
  const older = addressOf(`${base}/audit`, {
    ...query,
    before: next,
    nth: searchedTo === undefined && nth ? nth + entries.length : undefined,
  });
  return (
    <>
      <AuditFilters {...props} />
      {hasRefused && entries.length > 0 && (
        <p>
          <a href="#refused">{refusedText(refused)}</a>
        </p>
      )}
      <div id="log">
        {entries.length > 0 && <AuditEntries entries={entries} keyId={query.key} isOpen={isOpen} />}
        {entries.length === 0 && !hasRefused && next === undefined && <NothingFound {...props} />}
        {searchedTo !== undefined && (
          <Banner tone="neutral">
            <span data-continue>
              {entries.length === 0 && 'No entries found so far. '}Searched back to <Time at={searchedTo} />.{' '}
            </span>
            <a href={older}>Look further</a>
          </Banner>
        )}
      </div>
      <div class="actions">
        <Place {...props} />
        {next !== undefined && searchedTo === undefined && (
          <a class="button quiet" href={older}>
            Older entries
          </a>
        )}
        {!isFirst && <a href={addressOf(`${base}/audit`, query)}>Newest entries</a>}
      </div>
      {hasRefused && (
        <section id="refused">
          <h2>{refusedText(refused)}</h2>
          <p>A refused request writes nothing, so it has no entry.</p>
          <RefusedRequestsTable requests={refused.requests} />
        </section>
      )}
    </>
  );
}

function refusedText({ requests, ticketId }: Refused): string {
  if (ticketId === undefined) return 'This request was refused';
  // A page of refused requests is as many as are kept of one key: there may be more.
  const count = requests.length === KEPT_OF_KEY ? `The latest ${KEPT_OF_KEY}` : formatNumber(requests.length);
  const least = requests.some(({ isMinimum }) => isMinimum) && requests.length < KEPT_OF_KEY ? 'At least ' : '';
  return `${least}${count} refused ${requests.length === 1 ? 'request' : 'requests'} for ticket ${ticketId}`;
}

/** `1–50 of 164`: which of the entries these are. */
function Place({ entries, nth, total }: Props) {
  if (nth === undefined || total === undefined || entries.length === 0) return null;
  const { count, isMinimum } = total;
  const words = !isMinimum ? '' : count === MAX_COUNTED_ENTRIES ? 'more than ' : 'at least ';
  const [last, all] = [nth - 1 + entries.length, nth - 1 + count].map(formatNumber);
  return (
    <span class="minor">
      {formatNumber(nth)}–{last} of {words}
      {all}
    </span>
  );
}

/** Why there are no entries. */
function NothingFound({ query, isFirst }: Props) {
  const { base } = usePage();
  if (isFirst && !isFiltered(query)) {
    return (
      <section class="empty">
        <h2>No entries yet</h2>
      </section>
    );
  }
  return (
    <Banner tone="neutral">
      No {isFirst ? '' : 'older '}entries{isFiltered(query) && ' match these filters'}
      {(query.from ?? '') > (query.to ?? '9') && ': “From” is after “To”'}.{' '}
      {query.q !== undefined && isRequestId(query.q) && [<NotRecorded />, ' ']}
      {isFiltered(query) && <a href={`${base}/audit`}>All entries</a>}
    </Banner>
  );
}
