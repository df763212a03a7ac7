import { AUDIT_ACTIONS } from '../../../domain/audit-actions.ts';
import type { AuditRow } from '../../../services/audit/read-audit-log.ts';
import { Hint, Notice, type Place, Table, Time } from './components.tsx';

/** The filters as they stand in the address. */
export interface AuditQuery {
  key?: string | undefined;
  action?: string | undefined;
  ticket?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  q?: string | undefined;
}

interface Props {
  place: Place;
  query: AuditQuery;
  /** The address of this selection, without a cursor. */
  selection: string;
  keys: readonly { id: string; name: string; hint: string }[];
  rows: readonly AuditRow[];
  next: number | undefined;
}

/** The audit log: who did what, newest first. */
export function AuditLogPage({ place, query, selection, keys, rows, next }: Props) {
  const at = (page: string, more = '') =>
    `${place.base}/${page}${[selection, more].some(Boolean) ? '?' : ''}${[selection, more].filter(Boolean).join('&')}`;
  return (
    <>
      <Filters place={place} query={query} keys={keys} />
      {rows.length > 0 && <AuditTable caption="Audit entries, newest first" rows={rows} place={place} />}
      {rows.length === 0 && next === undefined && <Notice>No entry matches.</Notice>}
      {rows.length === 0 && next !== undefined && <Notice>No entry matches so far; there are older ones to look through.</Notice>}
      <div class="actions">
        {next !== undefined && <a href={at('audit', `before=${next}`)}>Older entries</a>}
        {(rows.length > 0 || next !== undefined) && <a href={at('audit.csv')}>Download as CSV</a>}
      </div>
    </>
  );
}

function Filters({ place, query, keys }: Pick<Props, 'place' | 'query' | 'keys'>) {
  return (
    <search>
      <form method="get" action={`${place.base}/audit`} class="filters">
        <label>
          Key
          <select name="key">
            <option value="">All</option>
            {keys.map(({ id, name, hint }) => (
              <option value={id} selected={id === query.key}>
                {name} ({hint})
              </option>
            ))}
          </select>
        </label>
        <label>
          Action
          <select name="action">
            <option value="">All</option>
            {Object.entries(AUDIT_ACTIONS).map(([action, label]) => (
              <option value={action} selected={action === query.action}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label>
          Ticket
          <input type="text" name="ticket" value={query.ticket} size={10} />
        </label>
        <label>
          From
          <input type="date" name="from" value={query.from} />
        </label>
        <label>
          To
          <input type="date" name="to" value={query.to} />
        </label>
        <button type="submit">Filter</button>
      </form>
      <form method="get" action={`${place.base}/audit`} class="filters">
        <label class="wide">
          Record id, request id or Idempotency-Key, in the whole log
          <input type="search" name="q" value={query.q} />
        </label>
        <button type="submit" class="quiet">
          Search
        </button>
        {Object.values(query).some((value) => value !== undefined) && <a href={`${place.base}/audit`}>Show all</a>}
      </form>
    </search>
  );
}

/** Entries of the audit log as a table. */
export function AuditTable({ caption, rows, place }: { caption: string; rows: readonly AuditRow[]; place: Place }) {
  return (
    <Table caption={caption} headings={['Time', 'By', 'Action', 'Ticket', 'Details', 'From']}>
      {rows.map((row) => (
        <tr>
          <td data-label="Time">
            <Time at={row.at} place={place} />
          </td>
          <th scope="row" data-label="By">
            <Actor row={row} place={place} />
          </th>
          <td data-label="Action">{AUDIT_ACTIONS[row.action] ?? row.action}</td>
          <td data-label="Ticket">{row.ticketId ?? '–'}</td>
          <td data-label="Details">
            <Details row={row} place={place} />
          </td>
          <td data-label="From">{row.sourceAddress ?? '–'}</td>
        </tr>
      ))}
    </Table>
  );
}

/** The actor's name as it was then; of a key also the hint, and whether it has been revoked since. */
function Actor({ row, place }: { row: AuditRow; place: Place }) {
  if (row.actorType !== 'api_key' || row.keyId === null) return <bdi>{row.actorName}</bdi>;
  return (
    <>
      <a href={`${place.base}/keys/${row.keyId}`}>
        <bdi>{row.actorName}</bdi>
      </a>
      {row.keyHint && <Hint hint={row.keyHint} />}
      {row.keyRevokedAt !== null && <span class="mark"> revoked</span>}
    </>
  );
}

function Details({ row, place }: { row: AuditRow; place: Place }) {
  const ofKey = row.actorType !== 'api_key' && row.keyId !== null;
  return (
    <>
      {row.minutes !== null && (
        <span>
          {row.minutes} min, <bdi>{row.technician}</bdi>
        </span>
      )}
      {ofKey && (
        <a href={`${place.base}/keys/${row.keyId}`}>
          <bdi>{row.keyName}</bdi> {row.keyHint && <Hint hint={row.keyHint} />}
        </a>
      )}
      {row.detail && row.detail !== row.keyName && (
        <span class="minor">
          <bdi>{row.detail}</bdi>
        </span>
      )}
      <details>
        <summary>Ids</summary>
        <dl>
          <dt>Record</dt>
          <dd>{row.targetId}</dd>
          <dt>Request</dt>
          <dd>{row.requestId}</dd>
          {row.idempotencyKey !== null && (
            <>
              <dt>Idempotency-Key</dt>
              <dd>{row.idempotencyKey}</dd>
            </>
          )}
          {row.userAgent !== null && (
            <>
              <dt>User-Agent</dt>
              <dd>{row.userAgent}</dd>
            </>
          )}
        </dl>
      </details>
    </>
  );
}
