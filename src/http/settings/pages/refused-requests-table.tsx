import { fieldRule } from '../../../domain/refused-request.ts';
import type { RefusedRequest } from '../../../services/keys/refused-requests.ts';
import { Table, type TableColumn, Ticket } from './components.tsx';
import { From, KeyName } from './key-facts.tsx';
import { adviceOf, RefusedTechnician, Repair, reasonText } from './refusal.tsx';
import { Time } from './time.tsx';

/**
 * The reason in words, what was wrong, and what to do unless the page says it. Each address has its own repair: the page of
 * a key says only the last one.
 */
function Reason({ request, isReported }: { request: RefusedRequest; isReported: boolean }) {
  const { status, reason, pointers, isAllowedNow } = request;
  return (
    <div>
      {reasonText(reason)} <span class="minor">({status})</span>
      {pointers.length > 0 && <div class="minor">Fields: {pointers.map(fieldText).join(', ')}</div>}
      <RefusedTechnician refusal={request} />
      {!isReported && <div class="minor">{isAllowedNow ? 'The key allows this now.' : adviceOf(reason)}</div>}
      {(!isReported || reason === 'address_not_allowed') && <Repair refusal={request} kind="row" />}
    </div>
  );
}

/** A refused field with what it accepts: the request did not have that. */
export function fieldText(pointer: string): string {
  if (pointer === '/?') return 'a name that the API does not know';
  if (pointer === '') return 'the whole body';
  const rule = fieldRule(pointer);
  return pointer.slice(1) + (rule === undefined ? '' : ` (${rule})`);
}

const KEY: TableColumn<RefusedRequest> = ['Key', ({ key }) => <KeyName subject={key} />];
const OTHERS: readonly TableColumn<RefusedRequest>[] = [
  ['Ticket', ({ ticketId }) => (ticketId === '?' ? <span>not an id</span> : <Ticket id={ticketId} />)],
  [
    'Request',
    ({ at, sourceAddress, userAgent, requestId }) => (
      <div>
        <Time at={at} />
        <From address={sourceAddress} />
        {userAgent !== null && (
          <div class="minor">
            <bdi>{userAgent}</bdi>
          </div>
        )}
        <div class="minor">{requestId}</div>
      </div>
    ),
  ],
];

interface Props {
  requests: readonly RefusedRequest[];
  /** On the page of a key, which is left out: the reasons with their repairs in its banners. */
  reported?: readonly string[];
}

/** Refused requests, newest first, each with its repair. */
export const RefusedRequestsTable = ({ requests, reported }: Props) => (
  <Table
    caption="Refused requests"
    kind="refused-requests"
    columns={[
      ['Reason', (request) => <Reason request={request} isReported={reported?.includes(request.reason) ?? false} />],
      ...(reported ? [] : [KEY]),
      ...OTHERS,
    ]}
    rows={requests}
  />
);
