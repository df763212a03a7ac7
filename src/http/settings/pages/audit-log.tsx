import type { Child } from 'hono/jsx';
import { AUDIT_ACTION_GROUPS } from '../../../domain/audit-actions.ts';
import { addDays, dateIn } from '../../../domain/calendar.ts';
import type { AuditAdministrator, AuditEntry } from '../../../services/audit/read-audit-log.ts';
import { usePage } from '../page-context.ts';
import { AuditEntries } from './audit-entries.tsx';
import { Banner, CsvMenu } from './components.tsx';
import { Time } from './time.tsx';

/** The filters of the audit log, from the URL's query string. */
export interface AuditQuery {
  /** A ticket, a record id, a request id or an Idempotency-Key. */
  q?: string | undefined;
  /** A ticket, as links name it. */
  ticket?: string | undefined;
  by?: string | undefined;
  key?: string | undefined;
  action?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  /** An instant in ISO 8601, as links name it. It replaces `from`. */
  since?: string | undefined;
}

interface Props {
  query: AuditQuery;
  keys: readonly { id: string; name: string; hint: string }[];
  administrators: readonly AuditAdministrator[];
  entries: readonly AuditEntry[];
  next: number | undefined;
  /** When the last entry examined was written, if the page is not full but there is more. */
  searchedTo: number | undefined;
  /** Whether the page begins with the newest entry. */
  isFirst: boolean;
  /** The dates of the filters that are not in the calendar: nothing was read. */
  wrongDates: readonly string[];
  /** What modules show below the log. */
  sections: Child[];
}

/** The address of a page of the log with these filters. */
const addressOf = (path: string, query: AuditQuery & { before?: number | undefined }) => {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return `${path}${given.length > 0 ? '?' : ''}${new URLSearchParams(given)}`;
};

/** The audit log, newest entries first. */
export function AuditLogPage(props: Props) {
  const { base } = usePage();
  const { query, entries, next, searchedTo, isFirst, wrongDates, sections } = props;
  const linkTo = (before?: number) => addressOf(`${base}/audit`, { ...query, before });
  return (
    <>
      <PrintedLine {...props} />
      <Filters {...props} />
      {wrongDates.length > 0 && (
        <Banner tone="warning">
          {wrongDates.join(' and ')} {wrongDates.length === 1 ? 'is not a date' : 'are not dates'}. Enter a calendar
          date, such as 2027-03-31. The other filters are kept.
        </Banner>
      )}
      <div id="log">
        {entries.length > 0 && <AuditEntries entries={entries} />}
        {entries.length === 0 && next === undefined && wrongDates.length === 0 && <NothingFound {...props} />}
        {searchedTo !== undefined && (
          <Banner tone="neutral">
            <span data-continue>
              {entries.length === 0 && 'No entries found so far. '}Searched back to <Time at={searchedTo} />.{' '}
            </span>
            <a href={linkTo(next)}>Look further</a>
          </Banner>
        )}
      </div>
      <div class="actions">
        {next !== undefined && searchedTo === undefined && (
          <a class="button quiet" href={linkTo(next)}>
            Older entries
          </a>
        )}
        {!isFirst && <a href={linkTo()}>Newest entries</a>}
      </div>
      {sections}
    </>
  );
}

/** The file of the selected entries, beside the title. */
export function AuditLogActions({ query }: Pick<Props, 'query'>) {
  const { base } = usePage();
  return <CsvMenu to={addressOf(`${base}/audit.csv`, query)} />;
}

/** Whether an address has filters. */
const isFiltered = (query: AuditQuery) => Object.values(query).some((value) => value !== undefined);

/** The selection in words, on paper only. */
function PrintedLine({ query: { q, ticket, by, key, action, from, to, since }, keys }: Props) {
  const { organization, now } = usePage();
  const name = keys.find(({ id }) => id === key)?.name ?? key;
  const parts = [
    q && `“${q}”`,
    ticket && `ticket ${ticket}`,
    name,
    by,
    action,
    from && `from ${from}`,
    to && `to ${to}`,
    since && `since ${since}`,
  ].filter(Boolean);
  return (
    <p class="on-paper">
      {organization}: {parts.length > 0 ? parts.join(', ') : 'all entries'}. <Time at={now} />
    </p>
  );
}

/** Why there are no entries, and how to see some. */
function NothingFound({ query, isFirst }: Props) {
  const { base } = usePage();
  if (!isFiltered(query) && isFirst) {
    return (
      <section class="empty">
        <h2>No entries yet</h2>
        <p>Each note and time entry that a key writes is listed here, and each change that an administrator makes.</p>
      </section>
    );
  }
  if (!isFiltered(query)) return <Banner tone="neutral">No older entries.</Banner>;
  if (query.from !== undefined && query.to !== undefined && query.from > query.to) {
    return (
      <Banner tone="neutral">
        “From” is after “To”, so there is no day between them. <a href={`${base}/audit`}>Clear the filters</a>
      </Banner>
    );
  }
  return (
    <Banner tone="neutral">
      {query.q === undefined
        ? `No ${isFirst ? '' : 'older '}entries match these filters.`
        : `No ${isFirst ? '' : 'older '}entries have this ticket, record ID, request ID or Idempotency-Key.`}{' '}
      <a href={`${base}/audit`}>{query.q === undefined ? 'Clear the filters' : 'Clear the search'}</a>
    </Banner>
  );
}

/** The periods to choose from, in days up to today. */
const PERIODS = [
  ['Today', 1],
  ['7 days', 7],
  ['30 days', 30],
] as const;

function Filters({ query, keys, administrators, entries }: Props) {
  const { base, now, timeZone } = usePage();
  const { q, ticket, by, key, action, from, to, since } = query;
  const isUnlisted = by !== undefined && !administrators.some(({ id }) => id === by);
  const periods = PERIODS.map(([label, days]) => [label, addDays(dateIn(timeZone, now), 1 - days)] as const);
  const hasOwnPeriod =
    since !== undefined || to !== undefined || (from !== undefined && !periods.some(([, first]) => first === from));
  return (
    <>
      <search>
        <form method="get" action={`${base}/audit`} class="toolbar">
          <div class="grow">
            <label for="q">Ticket, record, request or Idempotency-Key</label>
            <input id="q" type="search" name="q" value={q ?? ticket} autocomplete="off" spellcheck={false} />
          </div>
          <button type="submit">Search</button>
          <details class="more" open={[by, key, action].some((one) => one !== undefined) || hasOwnPeriod}>
            <summary>More filters</summary>
            <div class="filters">
              <label>
                Key
                <select name="key">
                  <option value="">All</option>
                  {keys.map(({ id, name, hint }) => (
                    <option value={id} selected={id === key}>
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
                    <option value={id} selected={id === by}>
                      {name}
                      {isFormer && ' (former)'}
                    </option>
                  ))}
                  {isUnlisted && (
                    <option value={by} selected>
                      {entries[0]?.actorName ?? by}
                    </option>
                  )}
                </select>
              </label>
              <label>
                Action
                <select name="action">
                  <option value="">All</option>
                  {AUDIT_ACTION_GROUPS.map(({ name, actions }) => (
                    <optgroup label={name}>
                      {actions.map(([one, label]) => (
                        <option value={one} selected={one === action}>
                          {label}
                        </option>
                      ))}
                    </optgroup>
                  ))}
                </select>
              </label>
              <label>
                From
                <input type="date" name="from" value={from} />
              </label>
              <label>
                To
                <input type="date" name="to" value={to} />
              </label>
            </div>
          </details>
        </form>
      </search>
      <nav class="state-chips" aria-label="Period">
        {[...periods, ['All', undefined] as const].map(([label, first]) => (
          <a
            href={addressOf(`${base}/audit`, { ...query, from: first, to: undefined, since: undefined })}
            aria-current={!hasOwnPeriod && from === first ? 'true' : undefined}
          >
            {label}
          </a>
        ))}
        {since !== undefined && (
          <a href={addressOf(`${base}/audit`, query)} aria-current="true">
            Since&nbsp;
            <Time at={Date.parse(since)} />
          </a>
        )}
        {isFiltered(query) && (
          <a href={`${base}/audit`} class="clear">
            Show all
          </a>
        )}
      </nav>
    </>
  );
}
