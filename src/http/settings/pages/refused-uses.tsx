import type { RefusedUse } from '../../../services/keys/refused-uses.ts';
import type { PageContext } from '../page-context.ts';
import { Hint, Table, Time } from './components.tsx';

const REASONS: Record<RefusedUse['reason'], string> = {
  revoked: 'The key is revoked',
  expired: 'The key has expired',
  scope_missing: 'The key lacks the scope for what was asked',
  organization_inactive: 'The organization is not active',
  psa_not_included: 'The plan does not include PSA',
  idempotency_mismatch: 'An Idempotency-Key was used again for something else; nothing new was written',
};

interface Props {
  uses: readonly RefusedUse[];
  context: PageContext;
  ofOneKey?: boolean;
}

/** Why keys were refused, which the caller is not told. */
export function RefusedUsesTable({ uses, context, ofOneKey = false }: Props) {
  if (uses.length === 0) return <p>None.</p>;
  return (
    <Table
      caption="Refused uses"
      headings={[...(ofOneKey ? [] : ['Key']), 'Reason', 'How often', 'First', 'Last', 'From']}
    >
      {uses.map((use) => (
        <tr>
          {!ofOneKey && (
            <th scope="row">
              <a href={`${context.base}/keys/${use.key.id}`}>
                <bdi>{use.key.name}</bdi>
              </a>
              <Hint hint={use.key.hint} />
            </th>
          )}
          <td data-label="Reason">{REASONS[use.reason]}</td>
          <td data-label="How often">at least {use.count}</td>
          <td data-label="First">
            <Time at={use.firstAt} context={context} />
          </td>
          <td data-label="Last">
            <Time at={use.lastAt} context={context} />
          </td>
          <td data-label="From">{use.sourceAddress ?? <span class="minor">not kept</span>}</td>
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
        Whoever sends a bad key gets the same answer, whatever is wrong. Here stands why a key of yours was refused.
        Counts are the least that it was; addresses are forgotten after 30 days.
      </p>
      <RefusedUsesTable uses={uses} context={context} />
    </>
  );
}
