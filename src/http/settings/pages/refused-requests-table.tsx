import type { RefusedRequest } from '../../../services/keys/refused-requests.ts';
import { PROBLEMS } from '../../problems.ts';
import { usePage } from '../page-context.ts';
import { Table, type TableColumn, Ticket } from './components.tsx';
import { From, KeyName } from './key-facts.tsx';
import { AddCompany, AllowAddress, REFUSAL_REASONS } from './refused-uses-table.tsx';
import { Time } from './time.tsx';

const REASONS = new Map<string, string>([
  ...Object.entries(PROBLEMS).map(([code, { title }]) => [code, title] as const),
  ...Object.entries(REFUSAL_REASONS),
]);

/** The reason in words, and what was wrong. */
function Reason({ request: { status, reason, pointers, userEmail, technician } }: { request: RefusedRequest }) {
  return (
    <div>
      {REASONS.get(reason) ?? reason} <span class="minor">({status})</span>
      {pointers.length > 0 && <div class="minor">Fields: {pointers.map(fieldName).join(', ')}</div>}
      {userEmail !== null && (
        <div class="minor">
          <bdi>{userEmail}</bdi>:{' '}
          {technician === null ? 'no user has this address' : [<bdi>{technician}</bdi>, ' is not an active technician']}
        </div>
      )}
    </div>
  );
}

const fieldName = (pointer: string) =>
  pointer === '/?' ? 'a name that the API does not know' : pointer === '' ? 'the whole body' : pointer.slice(1);

/** The form that shows the change of the key with which this request would have been accepted; saving it is another step. */
function Repair({ request }: { request: RefusedRequest }) {
  const { base } = usePage();
  const { key, reason, sourceAddress, companyId } = request;
  if (reason === 'address_not_allowed' && sourceAddress !== null && !key.isRevoked)
    return <AllowAddress keyId={key.id} address={sourceAddress} kind="row" />;
  if (reason === 'company_not_allowed' && companyId !== null && !key.isRevoked)
    return <AddCompany keyId={key.id} companyId={companyId} kind="row" />;
  if (reason !== 'expired' && reason !== 'scope_missing' && reason !== 'revoked') return null;
  return (
    <div class="row">
      <a class="button quiet" href={`${base}/new-key?like=${key.id}`}>
        Create key
      </a>
    </div>
  );
}

const WHY: TableColumn<RefusedRequest> = [
  'Reason',
  (request) => [<Reason request={request} />, <Repair request={request} />],
];
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
  /** Leaves out the key. */
  forOneKey?: boolean;
}

/** Refused requests, newest first, each with its repair. */
export const RefusedRequestsTable = ({ requests, forOneKey = false }: Props) => (
  <Table
    caption="Refused requests"
    kind="refused-requests"
    columns={[WHY, ...(forOneKey ? [] : [KEY]), ...OTHERS]}
    rows={requests}
  />
);
