import type { DayLimit } from '../../../domain/day-limit.ts';
import { FACT_TYPES, FACTS } from '../../../domain/facts.ts';
import { EXAMINED_KEYS, type KeyList } from '../../../services/keys/list-keys.ts';
import type { KeyQuery, ListedState } from '../../../services/keys/select-keys.ts';
import { Icon } from '../../page/icon.tsx';
import { isPlainList, keyListParameters, keyListPath } from '../key-query.ts';
import { usePage } from '../page-context.ts';
import { NeedsAttention } from './attention.tsx';
import { Banner, CsvLinks, counted, LinkButton, Menu } from './components.tsx';
import { amount, organizationLimits, useText } from './day-use.ts';
import { KeyFilters } from './key-filters.tsx';
import { KeyTable } from './key-table.tsx';
import { REFUSAL_REASONS } from './refused-uses-page.tsx';

interface Props {
  list: KeyList;
  query: KeyQuery;
  hasPsa: boolean;
  allRevoked: boolean;
  /** How many keys were just revoked together; 0 for none. */
  revoked: number;
  /** Whether a key was entered as the text to search for. */
  searchedKey: boolean;
}

const NOUNS: Record<ListedState, string> = {
  live: 'Keys',
  expiring: 'Expiring keys',
  ended: 'Ended keys',
  all: 'All keys',
};

/** The heading of a list: what its filters select. */
export function keyListTitle(query: KeyQuery): string {
  const { state, text, former, unusedDays, expires, refused } = query;
  if (isPlainList(query)) return 'API keys';
  const parts = [
    ...(former ? ['created by former administrators'] : []),
    ...(unusedDays === undefined ? [] : [`unused for ${counted(unusedDays, 'day')}`]),
    ...(expires === 'never' ? ['that never expire'] : []),
    ...(typeof expires === 'number' ? [`that expire within ${counted(expires, 'day')}`] : []),
    ...(refused === undefined ? [] : [`refused in the last 7 days: ${REFUSAL_REASONS[refused].replace('The', 'the')}`]),
    ...(text === undefined ? [] : [`with “${text}”`]),
  ];
  return [refused && state === 'all' ? 'Keys' : NOUNS[state], ...parts].join(' ');
}

export function KeyListPage(props: Props) {
  const { base } = usePage();
  const { list, query, hasPsa, allRevoked, revoked, searchedKey } = props;
  const isPlain = isPlainList(query);
  const fact = FACT_TYPES.find((type) => type === `refused_${query.refused}`);
  const advice = fact && FACTS[fact].advice;
  return (
    <>
      {allRevoked && <Banner>All keys are revoked. Requests with these keys are now refused.</Banner>}
      {revoked > 0 && (
        <Banner>
          {counted(revoked, 'key')} {revoked === 1 ? 'is' : 'are'} revoked. Requests with{' '}
          {revoked === 1 ? 'it' : 'them'} are now refused.
        </Banner>
      )}
      {searchedKey && (
        <Banner tone="warning">
          You searched for a whole key, so nothing was searched. Use{' '}
          <a href={`${base}/which-key`}>Which key is this?</a> instead: it keeps the key out of addresses and browser
          histories.
        </Banner>
      )}
      {!hasPsa && (
        <Banner tone="danger">
          Write-back is off for this organization, so requests with its keys get 403. The provider of your PSA can turn
          it on.
        </Banner>
      )}
      <NeedsAttention facts={list.facts} />
      {advice && <p class="advice">{advice}</p>}
      {isPlain && list.counts.live === 0 && <Empty />}
      {list.latestDay !== null && (
        <>
          <KeyFilters query={query} counts={list.counts} />
          <Keys list={list} query={query} isPlain={isPlain} />
        </>
      )}
    </>
  );
}

/** How many keys there are, and what they have written today, below the title. */
export function KeyListLead({
  list: { counts, latestDay },
  today,
  dayLimit,
  dayChanges,
}: {
  list: KeyList;
  today: string;
  dayLimit: DayLimit | null;
  dayChanges: number | null;
}) {
  if (latestDay === null) return null;
  const { records, bytes, changes } = latestDay.day === today ? latestDay : { records: 0, bytes: 0, changes: 0 };
  return (
    <p class="minor">
      {counts.live} in use. Today: {useText({ records, bytes }, organizationLimits(dayLimit))}
      {changes > 0 && `, ${amount(changes, dayChanges, 'change')} by administrators`}
    </p>
  );
}

export function KeyListActions({ list }: { list: KeyList }) {
  const { base } = usePage();
  const { review } = list;
  const summary = (
    <>
      <Icon name="more" />
      <span class="visually-hidden">More actions</span>
    </>
  );
  return (
    <>
      {review && (
        <a href={`${base}/access-review`} class="button quiet">
          Access review&nbsp;
          <span class="chip">
            {review.decided} / {review.keys}
          </span>
        </a>
      )}
      {list.latestDay !== null && (
        <Menu summary={summary} group="page" kind="overflow">
          <a href={`${base}/which-key`}>Which key is this?</a>
          {!review && <a href={`${base}/access-review`}>Access review</a>}
          <CsvLinks to={`${base}/keys.csv`} />
          {list.counts.live > 0 && (
            <a href={`${base}/revoke-all`} class="danger">
              Revoke all…
            </a>
          )}
        </Menu>
      )}
      <LinkButton to={`${base}/new-key`}>Create key</LinkButton>
    </>
  );
}

function Empty() {
  return (
    <section class="empty">
      <h2>No keys in use</h2>
      <p>
        An automation (n8n, Make, Zapier, Power Automate or a script) uses a key to write to your tickets. A key can add
        internal notes, log time, or both, and nothing else. Create one key for each workflow. You can then see what
        each workflow does, and revoke one key without stopping the others.
      </p>
    </section>
  );
}

interface KeysProps {
  list: KeyList;
  query: KeyQuery;
  isPlain: boolean;
}

function Keys({ list, query, isPlain }: KeysProps) {
  const { base } = usePage();
  const canSelect = !isPlain && list.keys.some(({ state }) => state !== 'revoked');
  if (list.keys.length > 0) {
    return (
      <form method="get" action={`${base}/revoke-keys`} class="sheet">
        <KeyTable keys={list.keys} query={query} canSelect={canSelect} />
        <Older list={list} query={query} />
        {canSelect && (
          <div class="pages">
            {keyListParameters(query).map(([name, value]) => (
              <input type="hidden" name={name} value={value} />
            ))}
            <label hidden>
              <input type="checkbox" data-all="key" /> Select all
            </label>{' '}
            <button type="submit" class="danger">
              Revoke selected…
            </button>
          </div>
        )}
      </form>
    );
  }
  if (isPlain) return null;
  return (
    <>
      <Banner tone="neutral">
        No keys match.{' '}
        {query.state !== 'all' && <a href={keyListPath(base, { ...query, state: 'all' })}>Look among all keys</a>}
      </Banner>
      <Older list={list} query={query} />
    </>
  );
}

/** A list of ended keys examines a fixed number of keys. */
function Older({ list: { older }, query }: Omit<KeysProps, 'isPlain'>) {
  const { base } = usePage();
  if (older === undefined) return null;
  return (
    <p class="pages minor">
      Of the ended keys, the newest {EXAMINED_KEYS} were examined.{' '}
      <a href={keyListPath(base, { ...query, before: older })}>Older keys</a>
    </p>
  );
}
