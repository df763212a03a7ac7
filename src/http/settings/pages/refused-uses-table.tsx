import type { RefusedUse } from '../../../services/keys/refused-uses.ts';
import { Address, Table, type TableColumn, Ticket } from './components.tsx';
import { KeyName } from './key-facts.tsx';
import { Time } from './time.tsx';

export const REFUSAL_REASONS: Record<RefusedUse['reason'], string> = {
  revoked: 'The key is revoked',
  expired: 'The key has expired',
  scope_missing: 'The key does not have the required scope',
  address_not_allowed: 'The address is not in the allowed networks of the key',
  company_not_allowed: 'The key is not for the company of the ticket',
  organization_inactive: 'The organization is not active',
  psa_not_included: 'Write-back is not enabled',
  daily_limit_reached: 'The daily limit of the key or the organization was reached',
  idempotency_mismatch: 'An Idempotency-Key was reused for a different request, so nothing was written',
};

const KEY_COLUMN: TableColumn<RefusedUse> = ['Key', ({ key }) => <KeyName subject={key} />];
const COLUMNS: readonly TableColumn<RefusedUse>[] = [
  [
    'Reason',
    ({ reason, lost }) => (
      <div>
        {REFUSAL_REASONS[reason]}
        <LostWrites lost={lost} />
      </div>
    ),
  ],
  [
    'Count',
    ({ count, firstAt }) => (
      <div>
        at least {count} since <Time at={firstAt} />
      </div>
    ),
  ],
  ['Last', ({ lastAt }) => <Time at={lastAt} />],
  [
    'Source address',
    ({ sourceAddress: address }) =>
      address === null ? <span class="minor">not available</span> : <Address address={address} />,
  ],
];

/** Refused uses with their reasons, which a 401 response does not give. */
export function RefusedUsesTable({ uses, forOneKey = false }: { uses: readonly RefusedUse[]; forOneKey?: boolean }) {
  if (uses.length === 0) return <p>No refused uses.</p>;
  return <Table caption="Refused uses" columns={forOneKey ? COLUMNS : [KEY_COLUMN, ...COLUMNS]} rows={uses} />;
}

/** The latest writes that were lost, so that they can be entered again, and the cause found. */
function LostWrites({ lost }: { lost: RefusedUse['lost'] }) {
  return lost.length === 0 ? null : (
    <ul class="lost minor">
      {lost.map(({ at, idempotencyKey, ticketId, requestId }) => (
        <li>
          <Time at={at} />: ticket <Ticket id={ticketId} />, Idempotency-Key <code>{idempotencyKey}</code>, request{' '}
          <code>{requestId}</code>
        </li>
      ))}
    </ul>
  );
}
