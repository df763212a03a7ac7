import { Hono } from 'hono';
import { everyRefusedRequest, listRefusedRequests, type RefusedRequest } from '../../services/keys/refused-requests.ts';
import { everyRefusedUse, listRefusedUses, type RefusedUse } from '../../services/keys/refused-uses.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { type Column, csvDownload, fileName } from './download.ts';
import { addressOf, pageContext } from './page-context.ts';
import { CsvLink, NotRecorded } from './pages/components.tsx';
import { REFUSAL_REASONS, reasonText } from './pages/refusal.tsx';
import { fieldText, RefusedRequestsTable } from './pages/refused-requests-table.tsx';
import { RefusedUsesTable } from './pages/refused-uses-table.tsx';
import { utcText } from './pages/time.tsx';
import { render } from './render-page.tsx';

export const refusedRequests = new Hono<AdminEnv>();

refusedRequests.get('/refused', async (c) => {
  const ctx = adminContext(c);
  const before = c.req.query('before');
  const [uses, { requests, next }] = await Promise.all([listRefusedUses(ctx), listRefusedRequests(ctx, { before })]);
  const page = (
    <>
      <p>
        Why requests with your keys were refused, which a 401 response does not say. Source addresses are deleted after
        30 days.
      </p>
      <h2>By key and reason</h2>
      <RefusedUsesTable uses={uses} />
      <h2 id="requests">Latest</h2>
      {requests.length === 0 ? (
        <p>No {before !== undefined && 'older '}requests were refused in the last 7 days.</p>
      ) : (
        <>
          <RefusedRequestsTable requests={requests} />
          <p>
            <CsvLink to={`${pageContext(c).base}/refused-requests.csv`} />
          </p>
        </>
      )}
      <p>
        The latest 50 of each key, for 7 days, without their texts. In a flood, some are left out.{' '}
        {next !== undefined && (
          <a href={`${addressOf(c.req.path, { before: next })}#requests`}>Older refused requests</a>
        )}
      </p>
      <p>
        <NotRecorded />
      </p>
    </>
  );
  return render(c, 'Refused requests', page, { actions: uses.length > 0 && <CsvLink to={`${c.req.path}.csv`} /> });
});

const lostText = ({ at, ticketId, idempotencyKey, requestId }: RefusedUse['lost'][number]) =>
  `${utcText(at)}: ticket ${ticketId}, Idempotency-Key ${idempotencyKey}, request ${requestId}`;

const COLUMNS: readonly Column<RefusedUse>[] = [
  ['Key', ({ key }) => key.name],
  ['Key hint', ({ key }) => key.hint],
  ['Reason', ({ reason }) => REFUSAL_REASONS[reason]],
  ['Count, at least', ({ count }) => count],
  { time: 'First', timeOf: ({ firstAt }) => firstAt },
  { time: 'Last', timeOf: ({ lastAt }) => lastAt },
  ['Last from', ({ sourceAddress }) => sourceAddress],
  ['Latest lost writes', ({ lost }) => lost.map(lostText).join('; ') || null],
];

refusedRequests.get('/refused.csv', (c) => {
  const pages = everyRefusedUse(adminContext(c), c.req.query('before'));
  return csvDownload(c, { name: fileName(c, 'refused-requests'), columns: COLUMNS, pages });
});

const REQUEST_COLUMNS: readonly Column<RefusedRequest>[] = [
  { time: 'Time', timeOf: ({ at }) => at },
  ['Key', ({ key }) => key.name],
  ['Key hint', ({ key }) => key.hint],
  ['Status', ({ status }) => status],
  ['Reason', ({ reason }) => reasonText(reason)],
  ['Fields', ({ pointers }) => pointers.map(fieldText).join(', ') || null],
  ['Ticket', ({ ticketId }) => (ticketId === '?' ? 'not an id' : ticketId)],
  ['Technician', ({ userEmail }) => userEmail],
  ['From', ({ sourceAddress }) => sourceAddress],
  ['User-Agent', ({ userAgent }) => userAgent],
  ['Request', ({ requestId }) => requestId],
];

refusedRequests.get('/refused-requests.csv', (c) => {
  const pages = everyRefusedRequest(adminContext(c), c.req.query('before'));
  return csvDownload(c, { name: fileName(c, 'latest-refused-requests'), columns: REQUEST_COLUMNS, pages });
});
