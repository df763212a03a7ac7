import { AUDIT_ACTION_GROUPS } from '../../../domain/audit-actions.ts';
import { addDays, dateIn } from '../../../domain/calendar.ts';
import { DEFAULT_LONG_MINUTES } from '../../../domain/time-marks.ts';
import type { AuditEntry, listAuditAdministrators } from '../../../services/audit/read-audit-log.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import { addressOf, usePage } from '../page-context.ts';
import { Options, Select, withSelected } from './select.tsx';
import { Time } from './time.tsx';

/** What a page of the audit log is limited to, as in its address. */
export interface AuditQuery {
  q?: string | undefined;
  ticket?: string | undefined;
  by?: string | undefined;
  key?: string | undefined;
  action?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  minutes?: number | undefined;
}

/** Whether an address has filters. */
export const isFiltered = (query: AuditQuery) => Object.values(query).some((value) => value !== undefined);

interface Props {
  query: AuditQuery;
  keys: readonly KeyDetails[];
  administrators: Awaited<ReturnType<typeof listAuditAdministrators>>;
  entries: readonly AuditEntry[];
}

/** The search, the other filters in a fold, and the usual ones as chips. */
export function AuditFilters({ query, keys, administrators, entries }: Props) {
  const { base } = usePage();
  const { q, ticket, by, key } = query;
  const keyNames = withSelected(
    key,
    entries[0]?.key?.name,
    keys.map(({ id, name, hint }) => [id, `${name} (${hint})`]),
  );
  const people = withSelected(
    by,
    entries[0]?.actorName,
    administrators.map(({ id, name, isFormer }) => [id, isFormer ? `${name} (former)` : name]),
  );
  return (
    <>
      <OnPaper query={{ ...query, ...(key && { key: keyNames.get(key) }), ...(by && { by: people.get(by) }) }} />
      <search>
        <form method="get" action={`${base}/audit`} class="toolbar">
          <div class="grow">
            <label for="q">Ticket, record, request or Idempotency-Key</label>
            <input id="q" type="search" name="q" value={q ?? ticket} autocomplete="off" spellcheck={false} />
          </div>
          <button type="submit">Search</button>
          <MoreFilters {...{ query, keyNames, people }} />
        </form>
      </search>
      <Chips query={query} />
    </>
  );
}

/** What the filters are, on paper only. */
function OnPaper({ query }: Pick<Props, 'query'>) {
  const { organization, now } = usePage();
  const filters = Object.entries(query).map(([name, value]) => `${name === 'q' ? 'search' : name} “${value}”`);
  return (
    <p class="on-paper">
      {organization}: {filters.join(', ') || 'all entries'}. <Time at={now} />
    </p>
  );
}

/** The periods to choose from, in days up to today. */
const PERIODS = [
  ['Today', 1],
  ['7 days', 7],
  ['30 days', 30],
] as const;

/** The periods with their first days, and whether the filters have another one. */
function usePeriods({ from, to }: AuditQuery) {
  const { now, timeZone } = usePage();
  const periods = PERIODS.map(([label, days]) => [label, addDays(dateIn(timeZone, now), 1 - days)] as const);
  const hasOther = to !== undefined || (from !== undefined && !periods.some(([, first]) => first === from));
  return { periods, hasOther };
}

type Names = ReadonlyMap<string, string>;

function MoreFilters({ query, keyNames, people }: Pick<Props, 'query'> & { keyNames: Names; people: Names }) {
  const { by, key, action, minutes, from, to } = query;
  const { hasOther } = usePeriods(query);
  const hasOtherAction = action !== undefined && !CHIP_GROUPS.some((name) => name === action);
  return (
    <details class="more" open={[by, key, minutes].some((one) => one !== undefined) || hasOtherAction || hasOther}>
      <summary>More filters</summary>
      <div class="filters">
        <Select label="Key" name="key">
          <Options options={keyNames} value={key} />
        </Select>
        <Select label="Administrator" name="by">
          <Options options={people} value={by} />
        </Select>
        <Select label="Action" name="action">
          {AUDIT_ACTION_GROUPS.map(({ name, actions }) => (
            <optgroup label={name}>
              <Options options={[[name, `${name}: all`], ...actions]} value={action} />
            </optgroup>
          ))}
        </Select>
        <label>
          Minutes, at least
          <input type="number" name="minutes" min="1" value={minutes?.toString()} />
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
  );
}

/** The groups of actions that are a chip. */
const CHIP_GROUPS = AUDIT_ACTION_GROUPS.slice(0, 3).map(({ name }) => name);

function Chips({ query }: Pick<Props, 'query'>) {
  const { base } = usePage();
  const { from, action, minutes } = query;
  const isLong = minutes === DEFAULT_LONG_MINUTES;
  const { periods, hasOther } = usePeriods(query);
  const chip = (label: string, change: AuditQuery, isCurrent: boolean) => (
    <a href={addressOf(`${base}/audit`, { ...query, ...change })} aria-current={isCurrent ? 'true' : undefined}>
      {label}
    </a>
  );
  return (
    <nav class="state-chips" aria-label="Filters">
      <span>
        {[...periods, ['Any time', undefined] as const].map(([label, first]) =>
          chip(label, { from: first, to: undefined }, !hasOther && from === first),
        )}
      </span>
      <span>
        {CHIP_GROUPS.map((name) => chip(name, { action: action === name ? undefined : name }, action === name))}
        {chip(`${DEFAULT_LONG_MINUTES}+ min`, { minutes: isLong ? undefined : DEFAULT_LONG_MINUTES }, isLong)}
      </span>
      {isFiltered(query) && (
        <a href={`${base}/audit`} class="clear">
          Clear filters
        </a>
      )}
    </nav>
  );
}
