import type { RefusedRequest } from '../../../services/keys/refused-requests.ts';
import { Address, counted, Table, type TableColumn, Ticket } from './components.tsx';
import { From, KeyName } from './key-facts.tsx';
import { adviceOf, RefusedPart, Repair, reasonText, repairId } from './refusal.tsx';
import { Time } from './time.tsx';

/** Equal requests that followed each other, the latest first. */
interface Group {
  latest: RefusedRequest;
  requests: RefusedRequest[];
  /** Whether it says what to do: neither the page nor an earlier group has. */
  hasAdvice: boolean;
}

/** The same for requests that one row shows. */
const sameRow = (request: RefusedRequest) => JSON.stringify([repairId(request), request.pointers, request.userEmail]);

function groupsOf(requests: readonly RefusedRequest[], reported: ReadonlySet<string>): Group[] {
  const groups: Group[] = [];
  const advised = new Set(reported);
  for (const request of requests) {
    const group = groups.at(-1);
    if (group && sameRow(group.latest) === sameRow(request)) {
      group.requests.push(request);
      continue;
    }
    const repair = repairId(request);
    groups.push({ latest: request, requests: [request], hasAdvice: !advised.has(repair) });
    advised.add(repair);
  }
  return groups;
}

/** The reason in words, what was wrong, and what to do. */
function Reason({ group: { latest, hasAdvice } }: { group: Group }) {
  const { status, reason, dayLimit, isAllowedNow } = latest;
  return (
    <div>
      <span class="status">{status}</span> {reasonText(reason, dayLimit)}
      <RefusedPart refusal={latest} />
      {hasAdvice && (
        <>
          <div class="minor">{isAllowedNow ? 'The key allows this now.' : adviceOf(reason, dayLimit)}</div>
          <Repair refusal={latest} kind="row" />
        </>
      )}
    </div>
  );
}

function When({ group: { latest, requests } }: { group: Group }) {
  return (
    <>
      <Time at={latest.at} />
      {requests.length > 1 && <span class="minor"> {counted(requests.length, 'request')}</span>}
    </>
  );
}

/** The tickets of a group, each once. */
const Tickets = ({ group: { requests } }: { group: Group }) => (
  <span>
    {[...new Set(requests.map(({ ticketId }) => ticketId))].map((id, index) => [
      index > 0 && ', ',
      id === '?' ? 'not an id' : <Ticket id={id} />,
    ])}
  </span>
);

/** From where each request came, and its id. */
const Details = ({ group: { latest, requests } }: { group: Group }) => (
  <details>
    <summary>
      <bdi>{latest.userAgent?.split(' ', 1)[0] || 'Details'}</bdi>
    </summary>
    {requests.map(({ at, sourceAddress, userAgent, requestId }) => (
      <p class="minor">
        <Time at={at} />
        <From address={sourceAddress} />
        {userAgent !== null && [', ', <bdi>{userAgent}</bdi>]}. Request <Address address={requestId} />
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

const SHOWN_GROUPS = 10;

/** Refused requests, newest first, equal neighbours together; the earlier ones below a fold. */
export function RefusedRequestsTable({ requests, reported = new Set(), forOneKey = false }: Props) {
  const groups = groupsOf(requests, reported);
  const earlier = groups.slice(SHOWN_GROUPS);
  const table = (rows: readonly Group[], caption: string) => (
    <Table
      caption={caption}
      kind="refused-requests"
      columns={[
        ['Time', (group) => <When group={group} />],
        ['Reason', (group) => <Reason group={group} />],
        ...(forOneKey ? [] : [KEY]),
        ['Ticket', (group) => <Tickets group={group} />],
        ['Sent by', (group) => <Details group={group} />],
      ]}
      rows={rows}
    />
  );
  return (
    <>
      {table(groups.slice(0, SHOWN_GROUPS), 'Refused requests')}
      {earlier.length > 0 && (
        <details>
          <summary>{counted(earlier.flatMap((group) => group.requests).length, 'earlier request')}</summary>
          {table(earlier, 'Earlier refused requests')}
        </details>
      )}
    </>
  );
}
