import type { Child } from 'hono/jsx';
import { AUDIT_ACTION_LABELS, auditActionLabel } from '../../../domain/audit-actions.ts';
import type { AuditAdministrator, AuditEntry } from '../../../services/audit/read-audit-log.ts';
import { usePage } from '../page-context.ts';
import type { RecordTexts } from '../record-texts.ts';
import { Address, Banner, CsvLinks, Hint, Table, Ticket } from './components.tsx';
import { Time } from './time.tsx';

export interface AuditQuery {
  by?: string | undefined;
  key?: string | undefined;
  action?: string | undefined;
  ticket?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  q?: string | undefined;
}

interface Props {
  query: AuditQuery;
  /** The query string of these filters, without a cursor. */
  selection: string;
  keys: readonly { id: string; name: string; hint: string }[];
  administrators: readonly AuditAdministrator[];
  entries: readonly AuditEntry[];
  texts: RecordTexts;
  next: number | undefined;
  /** When the last entry examined was written, if the page is not full but there is more. */
  searchedTo: number | undefined;
  isFirst: boolean;
  /** The dates of the filters that are not in the calendar: nothing was read. */
  wrongDates: readonly string[];
  sections: Child[];
}

export function AuditLogPage(props: Props) {
  const { base } = usePage();
  const { selection, entries, texts, next, searchedTo, isFirst, wrongDates, sections } = props;
  const linkTo = (page: string, more = '') =>
    `${base}/${page}${[selection, more].some(Boolean) ? '?' : ''}${[selection, more].filter(Boolean).join('&')}`;
  return (
    <>
      <Filters {...props} />
      {wrongDates.length > 0 && (
        <Banner tone="warning">
          {wrongDates.join(' and ')} {wrongDates.length === 1 ? 'is not a date' : 'are not dates'}. Enter a calendar
          date, such as 2027-03-31. The other filters are kept.
        </Banner>
      )}
      {entries.length > 0 && <AuditTable entries={entries} texts={texts} />}
      {entries.length === 0 && next === undefined && wrongDates.length === 0 && <NothingFound {...props} />}
      {searchedTo !== undefined && (
        <Banner tone="neutral">
          {entries.length === 0 && 'No entries found so far. '}Searched back to <Time at={searchedTo} />.{' '}
          <a href={linkTo('audit', `before=${next}`)}>Look further</a>
        </Banner>
      )}
      <div class="actions">
        {next !== undefined && searchedTo === undefined && (
          <a href={linkTo('audit', `before=${next}`)}>Older entries</a>
        )}
        {!isFirst && <a href={linkTo('audit')}>Newest entries</a>}
        {(entries.length > 0 || next !== undefined) && <CsvLinks to={linkTo('audit.csv')} />}
      </div>
      {sections}
    </>
  );
}

/** Why there are no entries, and how to see some. */
function NothingFound({ query, selection, isFirst }: Props) {
  const { base } = usePage();
  if (selection === '' && isFirst) {
    return (
      <section class="empty">
        <h2>No entries yet</h2>
        <p>Each note and time entry that a key writes is listed here, and each change that an administrator makes.</p>
      </section>
    );
  }
  if (selection === '') return <Banner tone="neutral">No older entries.</Banner>;
  if (query.from !== undefined && query.to !== undefined && query.from > query.to) {
    return (
      <Banner tone="neutral">
        “From” is after “To”, so there is no day between them. <a href={`${base}/audit`}>Clear the filters</a>
      </Banner>
    );
  }
  const isSearch = query.q !== undefined;
  return (
    <Banner tone="neutral">
      {isSearch
        ? 'No entries have this record ID, request ID or Idempotency-Key.'
        : `No ${isFirst ? '' : 'older '}entries match these filters.`}{' '}
      <a href={`${base}/audit`}>{isSearch ? 'Clear the search' : 'Clear the filters'}</a>
    </Banner>
  );
}

function Filters({ query, keys, administrators, entries }: Props) {
  const { base } = usePage();
  const isUnlisted = query.by !== undefined && !administrators.some(({ id }) => id === query.by);
  return (
    <search>
      <form method="get" action={`${base}/audit`} class="filters">
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
          Administrator
          <select name="by">
            <option value="">All</option>
            {administrators.map(({ id, name, isFormer }) => (
              <option value={id} selected={id === query.by}>
                {name}
                {isFormer && ' (former)'}
              </option>
            ))}
            {isUnlisted && (
              <option value={query.by} selected>
                {entries[0]?.actorName ?? query.by}
              </option>
            )}
          </select>
        </label>
        <label>
          Action
          <select name="action">
            <option value="">All</option>
            {AUDIT_ACTION_LABELS.map(([action, label]) => (
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
      <form method="get" action={`${base}/audit`} class="filters">
        <label class="wide">
          Search by record ID, request ID or Idempotency-Key
          <input type="search" name="q" value={query.q} />
        </label>
        <button type="submit" class="quiet">
          Search
        </button>
        {Object.values(query).some((value) => value !== undefined) && <a href={`${base}/audit`}>Show all</a>}
      </form>
    </search>
  );
}

/** How much of a text is on the line of its entry; the style cuts it at the width of the column. */
const SUMMARY_LENGTH = 120;

interface TableProps {
  entries: readonly AuditEntry[];
  texts: RecordTexts;
}

function AuditTable({ entries, texts }: TableProps) {
  return (
    <Table
      caption="Audit entries, newest first"
      headings={['Time', 'By', 'Action', 'Ticket', 'Details', 'Source address']}
    >
      {entries.map((entry) => (
        <tr>
          <td data-label="Time">
            <Time at={entry.at} />
          </td>
          <th scope="row" data-label="By">
            <Actor entry={entry} />
          </th>
          <td data-label="Action">{auditActionLabel(entry.action)}</td>
          <td data-label="Ticket">
            <Ticket id={entry.ticketId} />
          </td>
          <td data-label="Details">
            <Details entry={entry} text={texts.get(entry.targetId)} />
          </td>
          <td data-label="Source address">
            {entry.sourceAddress === null ? '–' : <Address address={entry.sourceAddress} />}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** The actor's name at that time, with a link to the key or to what the administrator did. */
function Actor({ entry: { actorType, actorId, actorName, key } }: { entry: AuditEntry }) {
  const { base } = usePage();
  if (actorType === 'user')
    return (
      <a href={`${base}/audit?by=${encodeURIComponent(actorId)}`} title={`Only entries by ${actorName}`}>
        <bdi>{actorName}</bdi>
      </a>
    );
  if (actorType !== 'api_key' || key === null) return <bdi>{actorName}</bdi>;
  return (
    <>
      <a href={`${base}/keys/${key.id}`}>
        <bdi>{actorName}</bdi>
      </a>{' '}
      <Hint hint={key.hint} />
      {key.revoked && <span class="mark"> revoked</span>}
    </>
  );
}

/** The beginning of what was written, which opens to the whole text and the ids. */
function Details({ entry, text }: { entry: AuditEntry; text: string | undefined }) {
  const { base } = usePage();
  const { actorType, key, time, detail, refusal } = entry;
  return (
    <div>
      {actorType !== 'api_key' && key && (
        <a href={`${base}/keys/${key.id}`}>
          <bdi>{key.name}</bdi> <Hint hint={key.hint} />
        </a>
      )}
      {detail && detail !== key?.name && (
        <span class="minor">
          <bdi>{detail}</bdi>
        </span>
      )}
      {refusal !== null && (
        <p class="minor">
          <strong class="mark">Refused by your PSA:</strong> <bdi>{refusal}</bdi>
        </p>
      )}
      <details class="entry">
        <summary>
          {time && (
            <>
              {time.minutes} min, <bdi>{time.technician}</bdi>
              {text !== undefined && ': '}
            </>
          )}
          {text === undefined ? !time && 'Technical details' : <bdi>{text.slice(0, SUMMARY_LENGTH)}</bdi>}
        </summary>
        {text !== undefined && <p class="text">{text}</p>}
        <dl>
          <dt>Record ID</dt>
          <dd>{entry.targetId}</dd>
          <dt>Request ID</dt>
          <dd>{entry.requestId}</dd>
          {entry.idempotencyKey !== null && (
            <>
              <dt>Idempotency-Key</dt>
              <dd>{entry.idempotencyKey}</dd>
            </>
          )}
          {entry.userAgent !== null && (
            <>
              <dt>User-Agent</dt>
              <dd>{entry.userAgent}</dd>
            </>
          )}
        </dl>
      </details>
    </div>
  );
}
