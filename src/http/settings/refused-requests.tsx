import { Hono } from 'hono';
import * as z from 'zod/mini';
import { everyRefusedRequest, listRefusedRequests, type RefusedRequest } from '../../services/keys/refused-requests.ts';
import { everyReason, listRefusedUses, type RefusedUse } from '../../services/keys/refused-uses.ts';
import type { AdminContext, ExportPage } from '../../services/service-context.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { type Column, csvDownload, fileName } from './download.ts';
import { addressOf, pageContext, usePage } from './page-context.ts';
import { Banner, CsvLink, formatNumber, NotRecorded, SearchForm } from './pages/components.tsx';
import { hasOpenLosses, LostWrites } from './pages/lost-writes.tsx';
import { fieldText, LOST, limitText, reasonText, repairId, statusOf } from './pages/refusal.tsx';
import { LatestRequests } from './pages/refused-requests-table.tsx';
import { RefusedUsesTable } from './pages/refused-uses-table.tsx';
import { utcText } from './pages/time.tsx';
import { render } from './render-page.tsx';
import { isRequestId, searchedId, validQuery } from './valid-query.ts';

export const refusedRequests = new Hono<AdminEnv>();

/** The filters in the address of the page. */
const refusedShape = z.lazy(() =>
  z.object({
    /** A ticket, also as `#1003`, a request id, or the Idempotency-Key of a lost write. */
    q: z.optional(z.string().check(z.overwrite(searchedId))),
    /** A status of the responses, or `Lost`. */
    status: z.optional(z.string().check(z.regex(/^([45]\d\d|Lost)$/, 'Status must be from 400 to 599, or Lost.'))),
    before: z.optional(z.string()),
  }),
);
type Query = z.output<typeof refusedShape>;

/** What the log has of a search and a status. Lost writes are listed apart from it: no request of it has the status 0. */
function logFilter({ q, status, before }: Query) {
  const search = q === undefined ? {} : isRequestId(q) ? { requestId: q.toLowerCase() } : { ticketId: q };
  return { ...search, before, status: status === undefined ? undefined : status === 'Lost' ? 0 : Number(status) };
}

const hasStatus = ({ status }: Query, { reason }: { reason: string }) =>
  status === undefined || status === `${statusOf(reason)}`;

refusedRequests.get('/refused', validQuery(refusedShape), async (c) => {
  const ctx = adminContext(c);
  const query = c.req.valid('query');
  const { q, before } = query;
  // Older requests are about the log alone, and a search also about lost writes.
  const isOfLog = q !== undefined || before !== undefined;
  const [uses, { requests: others }, { requests, next }] = await Promise.all([
    listRefusedUses(ctx),
    q === undefined ? listRefusedRequests(ctx, { byReason: true }) : { requests: [] },
    listRefusedRequests(ctx, logFilter(query)),
  ]);
  const isShown = (refusal: { reason: string }) => !isOfLog && hasStatus(query, refusal);
  const shownUses = uses.filter(isShown);
  const lost = q === undefined ? shownUses : findLostWrites(uses, q);
  const shownOthers = others.filter(isShown);
  const page = (
    <>
      <Filters query={query} refusals={[...uses, ...others]} />
      {shownUses.length + shownOthers.length > 0 && <RefusedUsesTable uses={shownUses} others={shownOthers} />}
      {requests.length + lost.length + shownOthers.length === 0 && <NoRequests query={query} />}
      {requests.length > 0 && (
        <LatestRequests
          requests={requests}
          reported={new Set([...shownUses, ...shownOthers].map(repairId))}
          found={q ?? (isOfLog || query.status ? '' : undefined)}
          isOlder={before !== undefined}
        />
      )}
      {(requests.length > 0 || (isOfLog && lost.length > 0)) && (
        <div class="row minor">
          {next !== undefined && <a href={addressOf(c.req.path, { ...query, before: next })}>Older requests</a>}
          {requests.length > 0 && (
            <a href={addressOf(`${pageContext(c).base}/refused-requests.csv`, { q, status: query.status })}>
              Requests as CSV
            </a>
          )}
          {isOfLog && <a href={c.req.path}>All refused requests</a>}
        </div>
      )}
      <LostWrites uses={lost} query={{ q, status: query.status }} />
      <p class="minor">
        <NotRecorded />
      </p>
    </>
  );
  return render(c, 'Refused requests', page, {
    lead: <p class="minor">Why requests with your keys were refused. A 401 response does not say that.</p>,
    actions: shownOthers.length + lost.length > 0 && (
      <CsvLink to={addressOf(`${c.req.path}.csv`, { q, status: query.status })} of="Reasons" />
    ),
  });
});

/** The lost writes with a ticket, an Idempotency-Key or a request id, with their key. */
function findLostWrites(refusals: readonly (RefusedUse | RefusedRequest)[], q: string): RefusedUse[] {
  const isFound = ({ ticketId, idempotencyKey, requestId }: RefusedUse['lost'][number]) =>
    ticketId === q || idempotencyKey === q || requestId === q.toLowerCase();
  return refusals.flatMap((use) => {
    if (!('lost' in use)) return [];
    const lost = use.lost.filter(isFound);
    return lost.length === 0 ? [] : { ...use, lost };
  });
}

/** How many requests were refused, without the lost writes that an administrator has entered by hand; with a `+` for at least. */
function numberOf(refusals: readonly (RefusedUse | RefusedRequest)[], now: number): string {
  const counted = refusals.filter((one) => !('lost' in one && one.reason === LOST && !hasOpenLosses(one, now)));
  const sum = counted.reduce((total, { count }) => total + count, 0);
  return `${formatNumber(sum)}${counted.some(({ isMinimum }) => isMinimum) ? '+' : ''}`;
}

interface FiltersProps {
  query: Query;
  refusals: readonly (RefusedUse | RefusedRequest)[];
}

/** The search by an id, or the statuses of the refusals as chips with the numbers of requests, and of lost writes to enter. */
function Filters({ query: { q, status }, refusals }: FiltersProps) {
  const { base, now } = usePage();
  const path = `${base}/refused`;
  const statuses = Map.groupBy(refusals, ({ reason }) => `${statusOf(reason)}`);
  if (status !== undefined && !statuses.has(status)) statuses.set(status, []);
  return (
    <div class="toolbar">
      <SearchForm id="q" to={path} label="Ticket or request id" text={q} fields={[]} />
      {q === undefined && statuses.size > 0 && (
        <nav class="state-chips statuses" aria-label="Statuses">
          <a href={path} aria-current={status === undefined ? 'true' : undefined}>
            All
          </a>
          {[...statuses].sort().map(([one, ofStatus]) => (
            <a href={addressOf(path, { status: one })} aria-current={one === status ? 'true' : undefined}>
              {one} <span class="number">{numberOf(ofStatus, now)}</span>
            </a>
          ))}
        </nav>
      )}
    </div>
  );
}

function NoRequests({ query: { q, status, before } }: { query: Query }) {
  const { base } = usePage();
  return (
    <Banner tone="neutral">
      The log of 7 days has no request{(q ?? status) && ` with “${q ?? status}”`}.
      {q && !isRequestId(q) && ' An Idempotency-Key finds only lost writes.'}
      <div class="row">
        {q && <a href={addressOf(`${base}/audit`, { q })}>Search the audit log</a>}
        {(q ?? status ?? before) && <a href={`${base}/refused`}>All refused requests</a>}
      </div>
    </Banner>
  );
}

const lostText = ({ at, ticketId, idempotencyKey, requestId }: RefusedUse['lost'][number]) =>
  `${utcText(at)}: ticket ${ticketId}, Idempotency-Key ${idempotencyKey}, request ${requestId}`;

/** A refused request, or the last one of a reason. */
interface Refused
  extends Pick<
    RefusedRequest,
    'key' | 'reason' | 'dayLimit' | 'ticketId' | 'company' | 'userEmail' | 'sourceAddress' | 'userAgent'
  > {
  status?: number;
  pointers?: readonly string[];
}

const COLUMNS: readonly Column<Refused>[] = [
  ['Key', ({ key }) => key.name],
  ['Key hint', ({ key }) => key.hint],
  ['Status', ({ reason, status }) => status ?? statusOf(reason)],
  ['Reason', ({ reason, dayLimit }) => reasonText(reason, dayLimit)],
  ['Daily limit', ({ dayLimit }) => dayLimit && limitText(dayLimit)],
  ['Fields', ({ pointers = [] }) => pointers.map(fieldText).join(', ') || null],
  ['Ticket', ({ ticketId }) => (ticketId === '?' ? 'not an id' : ticketId)],
  ['Company', ({ company }) => company],
  ['Technician', ({ userEmail }) => userEmail],
  ['From', ({ sourceAddress }) => sourceAddress],
  ['User-Agent', ({ userAgent }) => userAgent],
];

/** The count of each reason, and of its last request what is known of one. */
const REASON_COLUMNS: readonly Column<RefusedUse | RefusedRequest>[] = [
  ...COLUMNS,
  ['Count, at least', ({ count }) => count],
  { time: 'First', timeOf: (row) => ('firstAt' in row ? row.firstAt : null) },
  { time: 'Last', timeOf: (row) => ('lastAt' in row ? row.lastAt : row.at) },
  {
    time: 'Entered by hand',
    timeOf: (row) => ('lost' in row && row.reason === LOST ? row.endsAt : null),
  },
  [
    'Also refused',
    (row) =>
      ('stillRefused' in row && row.stillRefused.map((one) => one.company ?? one.sourceAddress).join(', ')) || null,
  ],
  ['Latest lost writes', (row) => ('lost' in row && row.lost.map(lostText).join('; ')) || null],
];

refusedRequests.get('/refused.csv', validQuery(refusedShape), (c) => {
  const pages = reasonsOf(adminContext(c), c.req.valid('query'));
  return csvDownload(c, { name: fileName(c, 'refused-requests'), columns: REASON_COLUMNS, pages });
});

/** The reasons of the page with the same filters: a search finds only lost writes. */
async function* reasonsOf(ctx: AdminContext, query: Query): AsyncGenerator<ExportPage<RefusedUse | RefusedRequest>> {
  const { q } = query;
  for await (const { items, next } of everyReason(ctx, logFilter(query))) {
    const uses = items.filter((item) => hasStatus(query, item));
    yield { items: q === undefined ? uses : findLostWrites(uses, q), next };
  }
}

refusedRequests.get('/refused-requests.csv', validQuery(refusedShape), (c) => {
  const pages = everyRefusedRequest(adminContext(c), logFilter(c.req.valid('query')));
  const columns: readonly Column<RefusedRequest>[] = [
    { time: 'Time', timeOf: ({ at }) => at },
    ...COLUMNS,
    ['Request', ({ requestId }) => requestId],
  ];
  return csvDownload(c, { name: fileName(c, 'latest-refused-requests'), columns, pages });
});
