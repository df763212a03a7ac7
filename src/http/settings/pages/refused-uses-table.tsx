import type { Child } from 'hono/jsx';
import { isForAttention, REFUSED_ATTENTION_MS } from '../../../domain/refused-use.ts';
import type { RefusedRequest } from '../../../services/keys/refused-requests.ts';
import type { RefusedUse } from '../../../services/keys/refused-uses.ts';
import { usePage } from '../page-context.ts';
import { counted, Table, type TableColumn, Ticket } from './components.tsx';
import { From, KeyName } from './key-facts.tsx';
import { EnteredByHand } from './lost-writes.tsx';
import {
  adviceOf,
  LOST,
  programIn,
  RefusedPart,
  Repair,
  reasonText,
  repairOf,
  replacedFor,
  statusOf,
} from './refusal.tsx';
import { Ago, MINUTE_MS, RecentTime } from './time.tsx';

/** Refused uses of a key, or the latest refused request of a key and a reason that they do not count. */
type Row = Omit<RefusedUse, 'reason' | 'firstAt' | 'lost' | 'limitId' | 'others'> & {
  reason: string;
  firstAt: number | null;
  pointers?: readonly string[];
  /** Whether the row above it has the same key, and its name. */
  isOfSameKey?: boolean;
};

/** A row for the requests of the log with one reason. */
const rowOf = (request: RefusedRequest): Row => ({
  ...request,
  firstAt: null,
  lastAt: request.at,
  endsAt: null,
  needsAttention: false,
  stillRefused: [],
  isLastAllowed: false,
});

/** Why nothing is to be done about refused uses; undefined if something is. */
function whyOver(row: Row, now: number): Child | undefined {
  const { reason, needsAttention, endsAt, lastAt, key, isAllowedNow } = row;
  if (endsAt !== null && endsAt <= now) return ['Over since ', <RecentTime at={endsAt} />, '.'];
  if (needsAttention) return undefined;
  if (key.isRevoked && reason !== 'revoked' && reason !== LOST) return 'Over: the key is revoked.';
  if (isAllowedNow) return 'Over: the key allows this now.';
  if (lastAt < now - REFUSED_ATTENTION_MS) return 'No request for 7 days.';
  return isForAttention(reason) ? 'Over: the key was rotated or used after it.' : undefined;
}

/** The rows of one key together, those that need attention first, then the latest. */
function inOrder(rows: readonly Row[]): Row[] {
  const sorted = rows.toSorted((a, b) => Number(b.needsAttention) - Number(a.needsAttention) || b.lastAt - a.lastAt);
  return [...Map.groupBy(sorted, ({ key }) => key.id).values()].flat();
}

/** The columns of refused uses. The page of a key has the repairs of what needs attention in its banners. */
function columnsOf(rows: readonly Row[], forOneKey: boolean, now: number): TableColumn<Row>[] {
  const hasToDo = (row: Row) => !(forOneKey && row.needsAttention) && isRepairable(row, now);
  return [
    [
      forOneKey ? 'Reason' : 'Key and reason',
      (row) => [
        !forOneKey &&
          (row.isOfSameKey ? <span class="visually-hidden">{row.key.name}</span> : <KeyName subject={row.key} />),
        <Reason row={row} />,
      ],
    ],
    ['How often', (row) => <HowOften row={row} />],
    ...(rows.some(hasToDo)
      ? [['To do', (row: Row) => hasToDo(row) && <Repair refusal={row} kind="row" />] as const]
      : []),
  ];
}

/** A successor is offered even when the requests with the old key are over. */
const isRepairable = (row: Row, now: number) =>
  (whyOver(row, now) === undefined || (replacedFor(row.reason) && row.key.successorId !== null)) &&
  repairOf(row) !== undefined;

function Reason({ row }: { row: Row }) {
  const { now } = usePage();
  const { key, reason, ticketId, dayLimit, endsAt } = row;
  const over = whyOver(row, now);
  const isLost = reason === LOST;
  return (
    <div>
      <span class="status">{statusOf(reason)}</span> {reasonText(reason, dayLimit)}
      {isLost && <div class="minor">Not written. Response: 200, or 409.</div>}
      {over === undefined && !isLost && (
        <>
          <RefusedPart refusal={row} />
          <div class="minor">
            {ticketId !== null &&
              ticketId !== '?' &&
              !isForAttention(reason) && ['Last ticket: ', <Ticket id={ticketId} />, '. ']}
            {adviceOf(row)}
          </div>
        </>
      )}
      {isLost && endsAt !== null ? <EnteredByHand keyId={key.id} at={endsAt} /> : <div class="minor">{over}</div>}
    </div>
  );
}

/** How often requests were refused, since when, and from where and by which program the last one was. */
export function HowOften({ row }: { row: Row }) {
  const { reason, count, isMinimum, firstAt, lastAt, sourceAddress } = row;
  const program = programIn(row);
  return (
    <span>
      {isMinimum && 'At least '}
      {counted(count, reason === LOST ? 'write' : 'request')}
      {/* Requests of one minute need no beginning. */}
      {firstAt !== null && lastAt - firstAt >= MINUTE_MS && [' since ', <RecentTime at={firstAt} />]},{' '}
      {count > 1 && 'last '}
      <Ago at={lastAt} />
      <From address={sourceAddress} />
      {program && [' by ', <bdi>{program}</bdi>]}
    </span>
  );
}

interface Props {
  uses: readonly RefusedUse[];
  /** The latest refused request of each key and reason that refused uses do not count. */
  others: readonly RefusedRequest[];
  /** Whether they are on the page of their key. */
  forOneKey?: boolean;
}

/**
 * Refused uses with their reasons, which a 401 response does not give, those that need attention first; those that are
 * over below a fold.
 */
export function RefusedUsesTable({ uses, others, forOneKey = false }: Props) {
  const { now } = usePage();
  if (uses.length + others.length === 0) return <p>No requests were refused.</p>;
  const rows = inOrder([...uses, ...others.map(rowOf)]);
  const isOver = (row: Row) => whyOver(row, now) !== undefined;
  const table = (some: readonly Row[]) => (
    <Table
      caption="Refused requests by reason"
      kind="refused"
      columns={columnsOf(some, forOneKey, now)}
      rows={some.map((row, index) => ({ ...row, isOfSameKey: row.key.id === some[index - 1]?.key.id }))}
    />
  );
  const open = rows.filter((row) => !isOver(row));
  const over = rows.filter(isOver);
  return (
    <>
      {open.length > 0 && table(open)}
      {over.length > 0 && (
        <details open={open.length === 0}>
          <summary>{counted(over.length, 'reason that is over', 'reasons that are over')}</summary>
          {table(over)}
        </details>
      )}
    </>
  );
}
