import type { RefusedRequest } from '../../../services/keys/refused-requests.ts';
import { Address, formatNumber, Table, type TableColumn, Ticket } from './components.tsx';
import { From, KeyName } from './key-facts.tsx';
import { adviceOf, programIn, RefusedPart, Repair, reasonText, repairId } from './refusal.tsx';
import { MINUTE_MS, RecentTime } from './time.tsx';

/** Requests that were refused alike, the latest first. */
interface Group {
  latest: RefusedRequest;
  requests: readonly RefusedRequest[];
  /** Whether it says what to do: the page does not say that elsewhere. */
  hasAdvice: boolean;
}

/** The same for requests that one row shows. */
const sameRow = (request: RefusedRequest) => JSON.stringify([repairId(request), request.pointers, request.userEmail]);

function groupsOf(requests: readonly RefusedRequest[], reported: ReadonlySet<string>): Group[] {
  return [...Map.groupBy(requests, sameRow).values()].flatMap((alike) => {
    const [latest] = alike;
    if (!latest) return [];
    return { latest, requests: alike, hasAdvice: !reported.has(repairId(latest)) };
  });
}

/** The reason in words, what was wrong, and what to do. */
function Reason({ group: { latest, hasAdvice } }: { group: Group }) {
  const { status, reason, dayLimit, sourceAddress, isAllowedNow } = latest;
  return (
    <div>
      <span class="status">{status}</span> {reasonText(reason, dayLimit)}
      {reason === 'address_not_allowed' && <From address={sourceAddress} />}
      <RefusedPart refusal={latest} />
      {hasAdvice && (
        <>
          <div class="minor">{isAllowedNow ? 'The key allows this now.' : adviceOf(latest)}</div>
          <Repair refusal={latest} kind="row" />
        </>
      )}
    </div>
  );
}

/** When the requests of a group were refused, and how often. */
function When({ group: { latest, requests } }: { group: Group }) {
  const first = requests.at(-1) ?? latest;
  return (
    <>
      {latest.at - first.at >= MINUTE_MS && [<RecentTime at={first.at} />, '–']}
      <RecentTime at={latest.at} />
      {requests.length > 1 && `, ${latest.isMinimum ? 'at least ' : ''}${formatNumber(requests.length)} times`}
    </>
  );
}

/** The tickets of a group, each once. */
const Tickets = ({ group: { requests } }: { group: Group }) => (
  <>
    {[...new Set(requests.map(({ ticketId }) => ticketId))].map((id, index) => [
      index > 0 && ', ',
      id === null ? <span class="dash">–</span> : id === '?' ? 'not an id' : <Ticket id={id} />,
    ])}
  </>
);

/** When each request came, its id, and where it came from unless that is the same as of the one above it. */
const Details = ({ group: { requests } }: { group: Group }) => (
  <details>
    <summary>
      <bdi>{[...new Set(requests.flatMap((request) => programIn(request) || []))].join(', ') || 'Details'}</bdi>
    </summary>
    {requests.map(({ at, sourceAddress, userAgent, requestId }, index) => (
      <p class="minor">
        <RecentTime at={at} />
        {sourceAddress !== requests[index - 1]?.sourceAddress && <From address={sourceAddress} />}
        {userAgent !== null && userAgent !== requests[index - 1]?.userAgent && [', ', <bdi>{userAgent}</bdi>]}. Request{' '}
        <Address address={requestId} />
      </p>
    ))}
  </details>
);

const KEY: TableColumn<Group> = ['Key', ({ latest: { key } }) => <KeyName subject={key} />];

interface Props {
  requests: readonly RefusedRequest[];
  /** The repairs that the page shows elsewhere. */
  reported?: ReadonlySet<string>;
  /** On the page of a key, its name is left out. */
  forOneKey?: boolean;
}

/** Refused requests, newest first, those that were refused alike together. */
export const RefusedRequestsTable = ({ requests, reported = new Set(), forOneKey = false }: Props) => (
  <Table
    caption="Refused requests"
    kind="refused-requests"
    columns={[
      ['Time', (group) => <When group={group} />],
      ['Reason', (group) => <Reason group={group} />],
      ...(forOneKey ? [] : [KEY]),
      ['Ticket', (group) => <Tickets group={group} />],
      ['Sent by', (group) => <Details group={group} />],
    ]}
    rows={groupsOf(requests, reported)}
  />
);

interface LatestProps extends Props {
  /** The search that has found them; empty if another filter has. */
  found?: string | undefined;
  /** Whether they are those before others. */
  isOlder?: boolean;
}

/** The same in a fold, which is open for those that a filter has found, with what the log keeps. */
export const LatestRequests = ({ found, isOlder = false, ...props }: LatestProps) => (
  <>
    <details id="requests" open={found !== undefined}>
      <summary>
        {isOlder ? 'Older requests' : 'Requests'}
        {found ? ` with “${found}”` : ', one by one'}
      </summary>
      <RefusedRequestsTable {...props} />
    </details>
    <p class="minor">
      The log keeps at most 50 requests of each key for 7 days, without their texts. Of many in one minute, it keeps
      only some.
    </p>
  </>
);
