import type { RefusedUse } from '../../../services/keys/refused-uses.ts';
import { usePage } from '../page-context.ts';
import { Address, CsvMenu, Hint, Table, Ticket } from './components.tsx';
import { Time } from './time.tsx';

export const REFUSAL_REASONS: Record<RefusedUse['reason'], string> = {
  revoked: 'The key is revoked',
  expired: 'The key has expired',
  scope_missing: 'The key does not have the required scope',
  address_not_allowed: 'The address is not in the allowed networks of the key',
  organization_inactive: 'The organization is not active',
  psa_not_included: 'Write-back is not enabled',
  daily_limit_reached: 'The daily limit of the key or the organization was reached',
  idempotency_mismatch: 'An Idempotency-Key was reused for a different request, so nothing was written',
};

interface Props {
  uses: readonly RefusedUse[];
  forOneKey?: boolean;
}

/** Refused uses with their reasons, which a 401 response does not give. */
export function RefusedUsesTable({ uses, forOneKey = false }: Props) {
  const { base } = usePage();
  if (uses.length === 0) return <p>No refused uses.</p>;
  return (
    <Table
      caption="Refused uses"
      headings={[...(forOneKey ? [] : ['Key']), 'Reason', 'Count', 'First', 'Last', 'Source address']}
    >
      {uses.map((use) => (
        <tr>
          {!forOneKey && (
            <th scope="row">
              <a href={`${base}/keys/${use.key.id}`}>
                <bdi>{use.key.name}</bdi>
              </a>{' '}
              <Hint hint={use.key.hint} />
            </th>
          )}
          <td data-label="Reason">
            <div>
              {REFUSAL_REASONS[use.reason]}
              <LostWrites of={use.lost} />
            </div>
          </td>
          <td data-label="Count">at least {use.count}</td>
          <td data-label="First">
            <Time at={use.firstAt} />
          </td>
          <td data-label="Last">
            <Time at={use.lastAt} />
          </td>
          <td data-label="Source address">
            {use.sourceAddress === null ? (
              <span class="minor">not available</span>
            ) : (
              <Address address={use.sourceAddress} />
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** The latest writes that were lost, so that they can be entered again, and the cause found. */
function LostWrites({ of: lost }: { of: RefusedUse['lost'] }) {
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

export function RefusedUsesActions() {
  const { base } = usePage();
  return <CsvMenu to={`${base}/refused.csv`} />;
}

export function RefusedUsesPage({ uses }: { uses: readonly RefusedUse[] }) {
  return (
    <>
      <p>
        This page shows why requests with your keys were refused. A 401 response does not give the caller the reason.
        Counts are minimums. Source addresses are deleted after 30 days.
      </p>
      <RefusedUsesTable uses={uses} />
    </>
  );
}
