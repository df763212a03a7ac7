import type { RefusedUse } from '../../../services/keys/refused-uses.ts';
import type { PageContext } from '../page-context.ts';
import { Address, CsvLinks, Hint, Table } from './components.tsx';
import { Time } from './time.tsx';

/** The reason of a refused use in words. */
export const REFUSAL_REASONS: Record<RefusedUse['reason'], string> = {
  revoked: 'The key is revoked',
  expired: 'The key has expired',
  scope_missing: 'The key does not have the required scope',
  address_not_allowed: 'The address is not in the allowed networks of the key',
  organization_inactive: 'The organization is not active',
  psa_not_included: 'The plan does not include PSA',
  daily_limit_reached: 'The daily limit of the key or the organization was reached',
  idempotency_mismatch: 'An Idempotency-Key was reused for a different request, so nothing was written',
};

interface Props {
  uses: readonly RefusedUse[];
  context: PageContext;
  /** Leaves out the column with the key. */
  forOneKey?: boolean;
}

/** Refused uses with their reasons, which a 401 response does not give. */
export function RefusedUsesTable({ uses, context, forOneKey = false }: Props) {
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
              <a href={`${context.base}/keys/${use.key.id}`}>
                <bdi>{use.key.name}</bdi>
              </a>{' '}
              <Hint hint={use.key.hint} />
            </th>
          )}
          <td data-label="Reason">{REFUSAL_REASONS[use.reason]}</td>
          <td data-label="Count">at least {use.count}</td>
          <td data-label="First">
            <Time at={use.firstAt} context={context} />
          </td>
          <td data-label="Last">
            <Time at={use.lastAt} context={context} />
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

/** The refused uses of all keys. */
export function RefusedUsesPage({ uses, context }: { uses: readonly RefusedUse[]; context: PageContext }) {
  return (
    <>
      <p>
        This page shows why requests with your keys were refused. A 401 response does not give the caller the reason.
        Counts are minimums. Source addresses are deleted after 30 days.
      </p>
      <RefusedUsesTable uses={uses} context={context} />
      {uses.length > 0 && (
        <div class="actions">
          <CsvLinks to={`${context.base}/refused.csv`} />
        </div>
      )}
    </>
  );
}
