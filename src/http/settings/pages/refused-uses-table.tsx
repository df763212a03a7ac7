import { dateIn, dateText } from '../../../domain/calendar.ts';
import { isForAttention, REFUSED_ATTENTION_MS } from '../../../domain/refused-use.ts';
import type { RefusedRequest } from '../../../services/keys/refused-requests.ts';
import type { RefusedUse } from '../../../services/keys/refused-uses.ts';
import { usePage } from '../page-context.ts';
import { formatNumber, Table, type TableColumn, Ticket } from './components.tsx';
import { From, KeyName } from './key-facts.tsx';
import { EnteredByHand, type LostQuery, LostWrites } from './lost-writes.tsx';
import { adviceOf, RefusedPart, Repair, reasonText, repairOf, replacedFor, statusOf } from './refusal.tsx';
import { Ago, clockTime, Time } from './time.tsx';

const MINUTE_MS = 60_000;

/** Refused uses of a key, or the latest refused request of a key and a reason that they do not count. */
type Row = Omit<RefusedUse, 'reason' | 'firstAt' | 'lost' | 'limitId'> & {
  reason: string;
  firstAt: number | null;
  pointers?: readonly string[];
};

/** A row for the requests of the log with one reason, of which at most as many as are kept are counted. */
const rowOf = (request: RefusedRequest): Row => ({
  ...request,
  firstAt: null,
  lastAt: request.at,
  endsAt: null,
  isMinimum: false,
  needsAttention: false,
});

/** Whether something is to be done about refused uses: neither is it over, nor was the last one long ago. */
function isOpen({ reason, needsAttention, endsAt, lastAt, key, isAllowedNow }: Row, now: number): boolean {
  if (isForAttention(reason)) return needsAttention;
  return !key.isRevoked && !isAllowedNow && lastAt >= now - REFUSED_ATTENTION_MS && (endsAt === null || endsAt > now);
}

const toDo = (has: (row: Row) => boolean): TableColumn<Row> => [
  'To do',
  (row) => has(row) && <Repair refusal={row} kind="row" />,
];

/** The columns of refused uses. The page of a key has the repairs of what needs attention in its banners. */
function columnsOf(rows: readonly Row[], now: number, forOneKey: boolean): TableColumn<Row>[] {
  const hasToDo = (row: Row) => isOpen(row, now) && !(forOneKey && row.needsAttention) && repairOf(row) !== undefined;
  return [
    forOneKey
      ? ['Reason', (row) => <Reason row={row} />]
      : ['Key and reason', (row) => [<KeyName subject={row.key} />, <Reason row={row} />]],
    ['Requests', (row) => <Requests row={row} />],
    ...(rows.some(hasToDo) ? [toDo(hasToDo)] : []),
  ];
}

function Reason({ row }: { row: Row }) {
  const { now } = usePage();
  const { reason, endsAt, ticketId, dayLimit } = row;
  const isLost = reason === 'idempotency_mismatch';
  return (
    <div>
      <span class="status">{statusOf(reason)}</span> {reasonText(reason, dayLimit)}
      {isLost && <div class="minor">Not written. Response: 200, or 409.</div>}
      {endsAt !== null &&
        endsAt <= now &&
        (isLost ? (
          <EnteredByHand keyId={row.key.id} at={endsAt} />
        ) : (
          <div class="minor">
            Over since <End at={endsAt} />
            {replacedFor(reason) && row.key.successorId !== null && [': ', <Successor id={row.key.successorId} />]}
          </div>
        ))}
      {!isLost && isOpen(row, now) && (
        <>
          <RefusedPart refusal={row} />
          <div class="minor">
            {ticketId !== null && ticketId !== '?' && ['Last ticket: ', <Ticket id={ticketId} />, '. ']}
            {adviceOf(reason, dayLimit)}
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

function Requests({ row: { count, isMinimum, firstAt, lastAt, sourceAddress } }: { row: Row }) {
  const { now, timeZone } = usePage();
  const day = (at: number) => dateIn(timeZone, at);
  // Requests of one minute need no beginning.
  const since = firstAt === null || lastAt - firstAt < MINUTE_MS ? undefined : firstAt;
  return (
    <div>
      {isMinimum && 'at least '}
      {formatNumber(count)}
      {since !== undefined && [
        ' since ',
        <Time
          at={since}
          text={day(since) === day(now) ? clockTime(since, timeZone).slice(0, 5) : dateText(day(since))}
        />,
      ]}
      , {count > 1 && 'last '}
      <Ago at={lastAt} />
      <From address={sourceAddress} />
    </div>
  );
}

interface Props {
  uses: readonly RefusedUse[];
  /** The latest refused requests of other reasons. */
  others?: readonly RefusedRequest[];
  query: LostQuery;
}

/**
 * Refused uses with their reasons, which a 401 response does not give, those that need attention first. Then the latest
 * writes that were lost, so that they can be entered again, and the cause found.
 */
export function RefusedUsesTable({ uses, others = [], query }: Props) {
  const { now } = usePage();
  const forOneKey = query.onKey !== undefined;
  if (uses.length + others.length === 0) return <p>No requests were refused.</p>;
  const rows = [...uses, ...others.map(rowOf)].sort(
    (a, b) => Number(b.needsAttention) - Number(a.needsAttention) || b.lastAt - a.lastAt,
  );
  return (
    <>
      <Table
        caption="Refused requests by reason"
        kind="refused"
        columns={columnsOf(rows, now, forOneKey)}
        rows={rows}
      />
      <LostWrites uses={uses} query={query} />
    </>
  );
}
