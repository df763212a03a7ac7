import { dateIn, dateText } from '../../../domain/calendar.ts';
import { isForAttention, REFUSED_ATTENTION_MS } from '../../../domain/refused-use.ts';
import type { RefusedUse } from '../../../services/keys/refused-uses.ts';
import { usePage } from '../page-context.ts';
import { counted, formatNumber, Table, type TableColumn, Ticket } from './components.tsx';
import { From, KeyName } from './key-facts.tsx';
import { adviceOf, REFUSAL_REASONS, RefusedTechnician, Repair } from './refusal.tsx';
import { Ago, Time } from './time.tsx';

const MINUTE_MS = 60_000;

/** Whether something is to be done about refused uses: neither is it over, nor was the last one long ago. */
function isOpen({ reason, needsAttention, endsAt, lastAt, key, isAllowedNow }: RefusedUse, now: number): boolean {
  if (isForAttention(reason)) return needsAttention;
  return !key.isRevoked && !isAllowedNow && lastAt >= now - REFUSED_ATTENTION_MS && (endsAt === null || endsAt > now);
}

const REQUESTS: TableColumn<RefusedUse> = ['Requests', (use) => <Requests use={use} />];
const COLUMNS: readonly TableColumn<RefusedUse>[] = [
  ['Key and reason', (use) => [<KeyName subject={use.key} />, <Reason use={use} />]],
  REQUESTS,
  ['To do', (use) => <ToDo use={use} />],
];
/** The page of the key has the repairs of what needs attention in its banners. */
const COLUMNS_OF_KEY: readonly TableColumn<RefusedUse>[] = [
  ['Reason', (use) => <Reason use={use} />],
  REQUESTS,
  ['To do', (use) => !use.needsAttention && <ToDo use={use} />],
];

const ToDo = ({ use }: { use: RefusedUse }) => isOpen(use, usePage().now) && <Repair refusal={use} kind="row" />;

function Reason({ use }: { use: RefusedUse }) {
  const { now } = usePage();
  const { reason, endsAt, ticketId } = use;
  return (
    <div>
      {REFUSAL_REASONS[reason]}
      {endsAt !== null && endsAt <= now && (
        <div class="minor">
          Over since <End at={endsAt} />
        </div>
      )}
      {isOpen(use, now) && (
        <>
          <RefusedTechnician refusal={use} />
          <div class="minor">
            {ticketId !== null && ticketId !== '?' && ['Last ticket: ', <Ticket id={ticketId} />, '. ']}
            {adviceOf(reason)}
          </div>
        </>
      )}
    </div>
  );
}

/** When refused uses were over: `midnight` for a daily limit of yesterday. */
function End({ at }: { at: number }) {
  const { now, timeZone } = usePage();
  const today = dateIn(timeZone, now);
  // It was computed a moment after the request, and can be a moment after midnight.
  const isMidnight = dateIn(timeZone, at) === today && dateIn(timeZone, at - MINUTE_MS) !== today;
  return isMidnight ? <>midnight</> : <Time at={at} />;
}

function Requests({ use: { count, firstAt, lastAt, sourceAddress } }: { use: RefusedUse }) {
  const { timeZone } = usePage();
  return (
    <div>
      at least {formatNumber(count)} since <Time at={firstAt} text={dateText(dateIn(timeZone, firstAt))} />, last{' '}
      <Ago at={lastAt} />
      <From address={sourceAddress} />
    </div>
  );
}

/** The writes that one Idempotency-Key of a key lost, latest first. */
interface LostWrites extends Pick<RefusedUse, 'key'> {
  idempotencyKey: string;
  writes: RefusedUse['lost'];
}

const LOST_COLUMNS: readonly TableColumn<LostWrites>[] = [
  [
    'Idempotency-Key',
    ({ idempotencyKey, writes }) => [
      idempotencyKey,
      <div class="minor">
        {writes.length > 1 && `${counted(writes.length, 'write')}, last: `}Request {writes[0]?.requestId}
      </div>,
    ],
  ],
  [
    'Ticket',
    ({ writes }) => (
      <span>
        {[...new Set(writes.map(({ ticketId }) => ticketId))].map((id, index) => [
          index > 0 && ', ',
          <Ticket id={id} />,
        ])}
      </span>
    ),
  ],
  ['Time', ({ writes }) => <Time at={writes[0]?.at ?? 0} />],
  ['Key', ({ key: { id, name } }) => <KeyName subject={{ id, name }} />],
];

/** The lost writes of all keys, those of one Idempotency-Key together: its workflow sends the same one for several events. */
const lostWrites = (uses: readonly RefusedUse[]): LostWrites[] =>
  uses.flatMap(({ key, lost }) =>
    Array.from(
      Map.groupBy(lost, ({ idempotencyKey }) => idempotencyKey),
      ([idempotencyKey, writes]) => ({ key, idempotencyKey, writes }),
    ),
  );

/**
 * Refused uses with their reasons, which a 401 response does not give, those that need attention first. Then the latest
 * writes that were lost, so that they can be entered again, and the cause found.
 */
export function RefusedUsesTable({ uses, forOneKey = false }: { uses: readonly RefusedUse[]; forOneKey?: boolean }) {
  if (uses.length === 0) return <p>No requests were refused.</p>;
  const rows = uses.toSorted((a, b) => Number(b.needsAttention) - Number(a.needsAttention));
  const lost = lostWrites(uses);
  return (
    <>
      <Table
        caption="Refused requests by reason"
        kind="refused"
        columns={forOneKey ? COLUMNS_OF_KEY : COLUMNS}
        rows={rows}
      />
      {lost.length > 0 && (
        <>
          <h2>Writes that may be lost</h2>
          <Table caption="Writes that may be lost" columns={LOST_COLUMNS} rows={lost} />
        </>
      )}
    </>
  );
}
