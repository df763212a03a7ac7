import { dateIn, dateText } from '../../../domain/calendar.ts';
import { isForAttention, REFUSED_ATTENTION_MS } from '../../../domain/refused-use.ts';
import type { RefusedRequest } from '../../../services/keys/refused-requests.ts';
import type { RefusedUse } from '../../../services/keys/refused-uses.ts';
import { addressOf, usePage } from '../page-context.ts';
import { Address, counted, formatNumber, HiddenFields, Table, type TableColumn, Ticket } from './components.tsx';
import { From, KeyName } from './key-facts.tsx';
import { adviceOf, MORE_LOST, RefusedPart, Repair, reasonText, repairOf, replacedFor, statusOf } from './refusal.tsx';
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
  return (
    <div>
      <span class="status">{statusOf(reason)}</span> {reasonText(reason, dayLimit)}
      {reason === 'idempotency_mismatch' && <div class="minor">Not written. Response: 200, or 409.</div>}
      {endsAt !== null && endsAt <= now && (
        <div class="minor">
          Over since <End at={endsAt} />
          {replacedFor(reason) && row.key.successorId !== null && [': ', <Successor id={row.key.successorId} />]}
        </div>
      )}
      {isOpen(row, now) && (
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

/** The writes that one Idempotency-Key of a key lost, latest first: its workflow sends the same one for several events. */
interface LostWrites {
  idempotencyKey: string;
  writes: RefusedUse['lost'];
}

const LOST_COLUMNS: readonly TableColumn<LostWrites>[] = [
  ['Idempotency-Key', ({ idempotencyKey }) => <AuditedKey idempotencyKey={idempotencyKey} />],
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
  [
    'Lost',
    ({ writes }) => (
      <details>
        <summary>{counted(writes.length, 'write')}</summary>
        {writes.map(({ at, ticketId, requestId }) => (
          <p class="minor">
            <Time at={at} />, ticket {ticketId}. Request <Address address={requestId} />
          </p>
        ))}
      </details>
    ),
  ],
];

/** An Idempotency-Key with a link to the write that it was first used for. */
const AuditedKey = ({ idempotencyKey }: Pick<LostWrites, 'idempotencyKey'>) => (
  <a href={addressOf(`${usePage().base}/audit`, { q: idempotencyKey })}>{idempotencyKey}</a>
);

/** The lost writes of a key, and the button for when they are entered. */
function LostOfKey({ use, forOneKey }: { use: RefusedUse; forOneKey: boolean }) {
  const { base } = usePage();
  const { key, count, lastAt, isMinimum } = use;
  return (
    <>
      <form method="post" action={`${base}/keys/${key.id}/lost-writes`} class="row lost">
        {!forOneKey && (
          <h3>
            <KeyName subject={key} />
          </h3>
        )}
        <HiddenFields
          fields={[['count', `${count}`], ['lastAt', `${lastAt}`], ...(forOneKey ? [['onKey', '1'] as const] : [])]}
        />
        <button type="submit" class="quiet">
          Entered by hand: hide {isMinimum ? 'all' : count === 1 ? 'it' : `these ${formatNumber(count)}`}
        </button>
      </form>
      {isMinimum && (
        <p>
          At least {counted(count, 'write')}. {MORE_LOST}
        </p>
      )}
      <LostTable use={use} />
    </>
  );
}

function LostTable({ use: { key, lost } }: { use: RefusedUse }) {
  const rows = Array.from(
    Map.groupBy(lost, ({ idempotencyKey }) => idempotencyKey),
    ([idempotencyKey, writes]) => ({ idempotencyKey, writes }),
  );
  return <Table caption={`Writes of ${key.name} that may be lost`} columns={LOST_COLUMNS} rows={rows} />;
}

/** The lost writes that a search found. The page of their key has the button that hides all of them. */
export const FoundLostWrites = ({ uses }: { uses: readonly RefusedUse[] }) => (
  <section id="lost">
    <h2>Writes that may be lost</h2>
    {uses.map((use) => (
      <>
        <h3>
          <KeyName subject={use.key} />
        </h3>
        <LostTable use={use} />
      </>
    ))}
  </section>
);

/** The refused uses with lost writes that no administrator has entered by hand. */
export const openLosses = (uses: readonly RefusedUse[], now: number) =>
  uses.filter(({ lost, endsAt }) => lost.length > 0 && (endsAt === null || endsAt > now));

interface Props {
  uses: readonly RefusedUse[];
  /** The latest refused requests of other reasons. */
  others?: readonly RefusedRequest[];
  forOneKey?: boolean;
}

/**
 * Refused uses with their reasons, which a 401 response does not give, those that need attention first. Then the latest
 * writes that were lost, so that they can be entered again, and the cause found.
 */
export function RefusedUsesTable({ uses, others = [], forOneKey = false }: Props) {
  const { now } = usePage();
  if (uses.length + others.length === 0) return <p>No requests were refused.</p>;
  const rows = [...uses, ...others.map(rowOf)].sort(
    (a, b) => Number(b.needsAttention) - Number(a.needsAttention) || b.lastAt - a.lastAt,
  );
  const losses = openLosses(uses, now);
  return (
    <>
      <Table
        caption="Refused requests by reason"
        kind="refused"
        columns={columnsOf(rows, now, forOneKey)}
        rows={rows}
      />
      {losses.length > 0 && (
        <section id="lost">
          <h2>Writes that may be lost</h2>
          {losses.map((use) => (
            <LostOfKey {...{ use, forOneKey }} />
          ))}
        </section>
      )}
    </>
  );
}
