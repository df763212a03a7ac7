import { dateIn, dateText } from '../../../domain/calendar.ts';
import { isForAttention, REFUSED_ATTENTION_MS } from '../../../domain/refused-use.ts';
import type { RefusedUse } from '../../../services/keys/refused-uses.ts';
import { addressOf, usePage } from '../page-context.ts';
import { counted, formatNumber, Table, type TableColumn, Ticket } from './components.tsx';
import { From, KeyName } from './key-facts.tsx';
import { adviceOf, MORE_LOST, REFUSAL_REASONS, RefusedTechnician, Repair, repairOf, replacedFor } from './refusal.tsx';
import { Ago, Time } from './time.tsx';

const MINUTE_MS = 60_000;

/** Whether something is to be done about refused uses: neither is it over, nor was the last one long ago. */
function isOpen({ reason, needsAttention, endsAt, lastAt, key, isAllowedNow }: RefusedUse, now: number): boolean {
  if (isForAttention(reason)) return needsAttention;
  return !key.isRevoked && !isAllowedNow && lastAt >= now - REFUSED_ATTENTION_MS && (endsAt === null || endsAt > now);
}

const toDo = (has: (use: RefusedUse) => boolean): TableColumn<RefusedUse> => [
  'To do',
  (use) => has(use) && <Repair refusal={use} kind="row" />,
];

/** The columns of refused uses. The page of a key has the repairs of what needs attention in its banners. */
function columnsOf(rows: readonly RefusedUse[], now: number, forOneKey: boolean): TableColumn<RefusedUse>[] {
  const hasToDo = (use: RefusedUse) =>
    isOpen(use, now) && !(forOneKey && use.needsAttention) && repairOf(use) !== undefined;
  return [
    forOneKey
      ? ['Reason', (use) => <Reason use={use} />]
      : ['Key and reason', (use) => [<KeyName subject={use.key} />, <Reason use={use} />]],
    ['Requests', (use) => <Requests use={use} />],
    ...(rows.some(hasToDo) ? [toDo(hasToDo)] : []),
  ];
}

function Reason({ use }: { use: RefusedUse }) {
  const { now } = usePage();
  const { reason, endsAt, ticketId } = use;
  return (
    <div>
      {REFUSAL_REASONS[reason]}
      {endsAt !== null && endsAt <= now && (
        <div class="minor">
          Over since <End at={endsAt} />
          {replacedFor(reason) && use.key.successorId !== null && [': ', <Successor id={use.key.successorId} />]}
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

const Successor = ({ id }: { id: string }) => <a href={`${usePage().base}/keys/${id}`}>open its successor</a>;

/** When refused uses were over: `midnight` for a daily limit of yesterday. */
function End({ at }: { at: number }) {
  const { now, timeZone } = usePage();
  const today = dateIn(timeZone, now);
  // It was computed a moment after the request, and can be a moment after midnight.
  const isMidnight = dateIn(timeZone, at) === today && dateIn(timeZone, at - MINUTE_MS) !== today;
  return isMidnight ? <>midnight</> : <Time at={at} />;
}

function Requests({ use: { count, isMinimum, firstAt, lastAt, sourceAddress } }: { use: RefusedUse }) {
  const { timeZone } = usePage();
  return (
    <div>
      {isMinimum && 'at least '}
      {formatNumber(count)} since <Time at={firstAt} text={dateText(dateIn(timeZone, firstAt))} />, last{' '}
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
      <AuditedKey idempotencyKey={idempotencyKey} />,
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
];
const LOST_KEY: TableColumn<LostWrites> = ['Key', ({ key: { id, name } }) => <KeyName subject={{ id, name }} />];

/** An Idempotency-Key with a link to the write that it was first used for. */
const AuditedKey = ({ idempotencyKey }: Pick<LostWrites, 'idempotencyKey'>) => (
  <a href={addressOf(`${usePage().base}/audit`, { q: idempotencyKey })}>{idempotencyKey}</a>
);

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
  const losses = uses.filter(({ reason }) => reason === 'idempotency_mismatch');
  const isIncomplete = losses.some(({ isMinimum }) => isMinimum);
  const total = losses.reduce((sum, { count }) => sum + count, 0);
  return (
    <>
      <Table
        caption="Refused requests by reason"
        kind="refused"
        columns={columnsOf(rows, usePage().now, forOneKey)}
        rows={rows}
      />
      {lost.length > 0 && (
        <>
          <h2>Writes that may be lost</h2>
          {isIncomplete && (
            <p>
              At least {counted(total, 'write')}. {MORE_LOST}
            </p>
          )}
          <Table
            caption="Writes that may be lost"
            columns={forOneKey ? LOST_COLUMNS : [...LOST_COLUMNS, LOST_KEY]}
            rows={lost}
          />
        </>
      )}
    </>
  );
}
