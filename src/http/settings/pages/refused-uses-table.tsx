import type { PropsWithChildren } from 'hono/jsx';
import { dateIn, dateText } from '../../../domain/calendar.ts';
import { FACT_TYPES, FACTS } from '../../../domain/facts.ts';
import type { RefusedUse } from '../../../services/keys/refused-uses.ts';
import { usePage } from '../page-context.ts';
import { formatNumber, Table, type TableColumn, Ticket } from './components.tsx';
import { From, KeyName } from './key-facts.tsx';
import { Ago, Time } from './time.tsx';

export const REFUSAL_REASONS: Record<RefusedUse['reason'], string> = {
  revoked: 'The key is revoked',
  expired: 'The key has expired',
  scope_missing: 'The key does not have the required scope',
  address_not_allowed: 'The address is outside the allowed networks',
  company_not_allowed: 'The key is not for the company of the ticket',
  organization_inactive: 'The organization is not active',
  psa_not_included: 'Write-back is not enabled',
  daily_limit_reached: 'The daily limit of the key or the organization was reached',
  ticket_not_found: 'The ticket is unknown or closed',
  technician_not_eligible: 'The technician is not active',
  idempotency_mismatch: 'An Idempotency-Key was reused',
};

/** What to do about refused uses; undefined for a reason that never needs attention. */
export function adviceOf({ reason }: RefusedUse): string | undefined {
  const type = FACT_TYPES.find((one) => one === `refused_${reason}`);
  return type && FACTS[type].advice;
}

interface ChangeProps {
  keyId: string;
  kind: 'actions' | 'row';
}

/** Opens the settings of a key with one more value. A form, because any site can lead to a link with a value of its own. */
const OpenChange = ({ keyId, kind, name, value, field, children }: PropsWithChildren<OpenChangeProps>) => (
  <form method="post" action={`${usePage().base}/keys/${keyId}/change#${field}`} class={kind}>
    <button type="submit" name={name} value={value} class="quiet">
      {children}
    </button>
  </form>
);

interface OpenChangeProps extends ChangeProps {
  name: 'allow' | 'addCompany';
  value: string;
  field: string;
}

export const AllowAddress = ({ address, ...props }: ChangeProps & { address: string }) => (
  <OpenChange {...props} name="allow" value={address} field="allowedNetworks">
    Allow this address
  </OpenChange>
);

export const AddCompany = ({ companyId, ...props }: ChangeProps & { companyId: string }) => (
  <OpenChange {...props} name="addCompany" value={companyId} field="companies">
    Add the company
  </OpenChange>
);

/** The button that repairs refused uses, if there is a repair. */
export function Repair({ use, kind }: { use: RefusedUse; kind: 'actions' | 'row' }) {
  const { base } = usePage();
  const { key, reason, sourceAddress } = use;
  const change = `${base}/keys/${key.id}/change`;
  if (reason === 'address_not_allowed' && sourceAddress !== null)
    return <AllowAddress keyId={key.id} address={sourceAddress} kind={kind} />;
  const needsKey = reason === 'expired' || reason === 'scope_missing' || reason === 'revoked';
  if (!needsKey && reason !== 'daily_limit_reached') return null;
  return (
    <div class={kind}>
      <a class="button quiet" href={needsKey ? `${base}/new-key?like=${key.id}` : `${change}#dayLimitRecords`}>
        {needsKey ? 'Create key' : 'Raise the limit'}
      </a>
    </div>
  );
}

const USES: TableColumn<RefusedUse> = ['Uses', (use) => <Uses use={use} />];
const COLUMNS: readonly TableColumn<RefusedUse>[] = [
  ['Key and reason', (use) => [<KeyName subject={use.key} />, <Reason use={use} />]],
  USES,
  ['To do', (use) => use.needsAttention && <Repair use={use} kind="row" />],
];
const COLUMNS_OF_KEY: readonly TableColumn<RefusedUse>[] = [['Reason', (use) => <Reason use={use} />], USES];

const Reason = ({ use }: { use: RefusedUse }) => (
  <div>
    {REFUSAL_REASONS[use.reason]}
    {use.needsAttention && <div class="minor">{adviceOf(use)}</div>}
  </div>
);

function Uses({ use: { count, firstAt, lastAt, sourceAddress } }: { use: RefusedUse }) {
  const { timeZone } = usePage();
  return (
    <div>
      at least {formatNumber(count)} since <Time at={firstAt} text={dateText(dateIn(timeZone, firstAt))} />, last{' '}
      <Ago at={lastAt} />
      <From address={sourceAddress} />
    </div>
  );
}

type LostWrite = RefusedUse['lost'][number] & Pick<RefusedUse, 'key'>;
const LOST_COLUMNS: readonly TableColumn<LostWrite>[] = [
  [
    'Idempotency-Key',
    ({ idempotencyKey, requestId }) => [idempotencyKey, <div class="minor">Request {requestId}</div>],
  ],
  ['Ticket', ({ ticketId }) => <Ticket id={ticketId} />],
  ['Time', ({ at }) => <Time at={at} />],
  ['Key', ({ key: { id, name } }) => <KeyName subject={{ id, name }} />],
];

/**
 * Refused uses with their reasons, which a 401 response does not give, those that need attention first. Then the latest
 * writes that were lost, so that they can be entered again, and the cause found.
 */
export function RefusedUsesTable({ uses, forOneKey = false }: { uses: readonly RefusedUse[]; forOneKey?: boolean }) {
  if (uses.length === 0) return <p>No refused uses.</p>;
  const rows = uses.toSorted((a, b) => Number(b.needsAttention) - Number(a.needsAttention));
  const lost = uses.flatMap(({ key, lost }) => lost.map((write) => ({ ...write, key })));
  return (
    <>
      <Table caption="Refused uses" kind="refused" columns={forOneKey ? COLUMNS_OF_KEY : COLUMNS} rows={rows} />
      {lost.length > 0 && (
        <>
          <h2>Writes that may be lost</h2>
          <Table caption="Writes that may be lost" columns={LOST_COLUMNS} rows={lost} />
        </>
      )}
    </>
  );
}
