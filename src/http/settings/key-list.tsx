import { type Context, Hono } from 'hono';
import { dateIn } from '../../domain/calendar.ts';
import type { DayLimits } from '../../domain/day-limit.ts';
import { CSV_SETTINGS, companyIds } from '../../domain/key-settings.ts';
import { EXAMINED_KEYS, type KeyList, listKeys } from '../../services/keys/list-keys.ts';
import { everyKey, type KeyDetails } from '../../services/keys/read-keys.ts';
import {
  KEY_NOTES,
  type KeyQuery,
  keyQuery,
  type ListedState,
  matchOf,
  noteOf,
  stateInList,
  stateOf,
} from '../../services/keys/select-keys.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { Icon } from '../page/icon.tsx';
import { type Column, csvDownload, fileName } from './download.ts';
import { tileOf } from './fact-tiles.ts';
import { isFiltered, isPlainList, keyListPath } from './key-query.ts';
import { addressOf, factOptions, parametersOf, todayOf, usePage } from './page-context.ts';
import { NeedsAttention } from './pages/attention.tsx';
import {
  Banner,
  counted,
  formatNumber,
  HiddenFields,
  LinkButton,
  Menu,
  Scopes,
  SearchForm,
  State,
  scopeList,
  stateLabel,
  Table,
  type TableColumn,
} from './pages/components.tsx';
import { organizationLimits, useText } from './pages/day-use.ts';
import { KeyName, RefusedMarks } from './pages/key-facts.tsx';
import { RecipeLinks } from './pages/new-key.tsx';
import { Ago, ShortExpiry, Time } from './pages/time.tsx';
import { SmallChart } from './pages/usage-chart.tsx';
import { render } from './render-page.tsx';
import { validFile, validQuery } from './valid-query.ts';

export const keyList = new Hono<AdminEnv>();

keyList.get('/keys', validQuery(keyQuery), (c) => renderKeyList(c, c.req.valid('query')));

/** Responds with the list; with the reason and the selection, if the revocation of selected keys was `refused`. */
export async function renderKeyList(c: Context<AdminEnv>, query: KeyQuery, refused?: Props['refused']) {
  const { dayLimits } = c.get('config');
  const today = todayOf(c);
  const hasFacts = isPlainList(query) || (query.fact !== undefined && !noteOf(query));
  const list = await listKeys(adminContext(c), query, today, hasFacts ? factOptions(c) : undefined);
  const { hasPsa, timeZone } = c.get('administrator').organization;
  return render(c, titleOf(list, query, timeZone), <KeyListPage {...{ list, query, hasPsa, refused }} />, {
    lead: <Lead {...{ list, today, dayLimits }} />,
    actions: <Actions list={list} />,
    ...(refused && { status: 400, hasErrors: true }),
  });
}

const COLUMNS: readonly Column<KeyDetails>[] = [
  ['Name', ({ name }) => name],
  ['Hint', ({ hint }) => hint],
  ['Scopes', ({ scopes }) => scopeList(scopes)],
  ['State', ({ state }) => stateLabel(state)],
  { time: 'Created', timeOf: ({ createdAt }) => createdAt },
  ['Created by', ({ createdBy }) => createdBy],
  ['Creator active', ({ creatorActive }) => (creatorActive ? 'yes' : 'no')],
  { time: 'Last write', timeOf: ({ lastWrite }) => lastWrite?.at ?? null },
  ['Last write from', ({ lastWrite }) => lastWrite?.from ?? null],
  { time: 'Expires', timeOf: ({ expiresAt }) => expiresAt },
  { time: 'Revoked', timeOf: ({ revokedAt }) => revokedAt },
  ['Revoked by', ({ revokedBy }) => revokedBy],
  ['Replaced by', ({ successor }) => successor?.hint ?? null],
  ...CSV_SETTINGS.map(({ name, csv }): Column<KeyDetails> => [csv, (key) => key[name]]),
];

keyList.get('/keys.csv', validFile, (c) => {
  const pages = everyKey(adminContext(c), c.req.valid('query').before);
  return csvDownload(c, { name: fileName(c, 'api-keys'), columns: COLUMNS, pages });
});

/** The states that a list can be limited to, as chips and in its heading. */
const STATES: readonly (readonly [state: ListedState, chip: string, keys: string])[] = [
  ['live', 'In use', 'Keys'],
  ['expiring', 'Expiring', 'Expiring keys'],
  ['ended', 'Ended', 'Ended keys'],
  ['all', 'All', 'All keys'],
];

/** The heading of a list: its filters in words. */
function titleOf({ facts, keys }: KeyList, query: KeyQuery, timeZone: string): string {
  if (isPlainList(query)) return 'API keys';
  const { q, state = 'live', expires, fact } = query;
  const ofType = facts.filter(({ type }) => type === fact);
  const note = noteOf(query);
  return [
    tileOf(ofType, (at) => dateIn(timeZone, at))?.title ?? STATES.find(([one]) => one === state)?.[2],
    note && KEY_NOTES[note].words,
    expires && 'that never expire',
    q && `with “${q}”: ${formatNumber(keys.length)}`,
  ]
    .filter(Boolean)
    .join(' ');
}

interface Props {
  list: KeyList;
  query: KeyQuery;
  hasPsa: boolean;
  refused: { why: string; selected: readonly string[] } | undefined;
}

function KeyListPage({ list, query, hasPsa, refused }: Props) {
  const note = noteOf(query);
  const advice = note ? KEY_NOTES[note].advice : list.facts.find(({ type }) => type === query.fact)?.kind.advice;
  return (
    <>
      {refused && (
        <Banner tone="warning" id="errors">
          {refused.why} <a href="#list">Select keys in the list</a>, then choose again.
        </Banner>
      )}
      {!hasPsa && (
        <Banner tone="danger">
          Write-back is off for this organization, so requests with its keys get 403. The provider of your PSA can turn
          it on.
        </Banner>
      )}
      {isPlainList(query) && <NeedsAttention facts={list.facts} />}
      {advice && <p class="advice">{advice}</p>}
      {isPlainList(query) && list.keys.every(({ lastWrite }) => lastWrite === null) && <FirstSteps keys={list.keys} />}
      {list.latestDay !== null && (
        <>
          <Filters list={list} query={query} />
          <Keys {...{ list, query, refused }} />
        </>
      )}
    </>
  );
}

/** The way to the first write, while no key in use has written. */
function FirstSteps({ keys }: Pick<KeyList, 'keys'>) {
  const { base, now } = usePage();
  return (
    <section class="empty" aria-labelledby="first">
      <h2 id="first">The first write</h2>
      <ol class="steps">
        <li>
          <h3>
            <a href={`${base}/new-key`}>Create a key</a>
            {keys.length > 0 && <span class="minor"> Done: {counted(keys.length, 'key')}</span>}
          </h3>
          <p>
            With a key, an automation adds internal notes to your tickets, logs time, or both, and reads nothing. Create
            one for each workflow, so that you see its writes and can revoke its key alone.
          </p>
        </li>
        <li>
          <h3>Give it to the tool</h3>
          <p>A key is shown once, so open the place where it goes first.</p>
          <RecipeLinks />
        </li>
        <li>
          <h3>Let the automation write</h3>
          <p>
            No write yet, as of <Time at={now} />. <a href={`${base}/keys`}>Check again</a>
          </p>
        </li>
      </ol>
    </section>
  );
}

interface LeadProps {
  list: KeyList;
  today: string;
  dayLimits: DayLimits;
}

/** How many keys there are, and what they have written today, below the title. */
function Lead({ list: { counts, latestDay }, today, dayLimits }: LeadProps) {
  if (latestDay === null) return null;
  const use = latestDay.day === today ? latestDay : { records: 0, bytes: 0 };
  return (
    <p class="minor">
      {counts.live} in use. Today: {useText(use, organizationLimits(dayLimits.organization))}
    </p>
  );
}

function Actions({ list: { latestDay, counts } }: Pick<Props, 'list'>) {
  const { base } = usePage();
  const summary = (
    <>
      <Icon name="more" />
      <span class="visually-hidden">More actions</span>
    </>
  );
  return (
    <>
      {latestDay !== null && (
        <Menu summary={summary} group="page" kind="overflow">
          <a href={`${base}/which-key`}>Which key is this?</a>
          <a href={`${base}/keys.csv`}>Download as CSV</a>
          {counts.live > 0 && (
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

type ListProps = Pick<Props, 'list' | 'query'> & Partial<Pick<Props, 'refused'>>;

/** The search, and links to the keys of each state and each note. All keep the other filters. */
function Filters({ list: { counts, notes }, query }: ListProps) {
  const { base } = usePage();
  const numbers: Partial<Record<ListedState, number>> = counts;
  return (
    <div class="toolbar" id="list">
      <SearchForm
        id="q"
        to={`${base}/keys`}
        label="Search keys, owners, addresses"
        text={query.q}
        fields={parametersOf({ ...query, q: undefined, before: undefined })}
      />
      <nav aria-label="States" class="state-chips">
        {STATES.map(([state, chip]) => (
          <a
            href={keyListPath(base, { ...query, state, before: undefined })}
            aria-current={state === stateOf(query) ? 'true' : undefined}
          >
            {chip}
            {numbers[state] !== undefined && !query.q && <span class="number"> {numbers[state]}</span>}
          </a>
        ))}
        {notes.map(
          ({ note, count }) =>
            (count > 0 || query.fact === note) && (
              <a
                href={keyListPath(base, { ...query, fact: note, state: undefined, before: undefined })}
                aria-current={query.fact === note ? 'true' : undefined}
              >
                {KEY_NOTES[note].chip}
                {!query.q && <span class="number"> {count}</span>}
              </a>
            ),
        )}
        {isFiltered(query) && (
          <a href={keyListPath(base, {})} class="clear">
            Clear filters
          </a>
        )}
      </nav>
    </div>
  );
}

function Keys({ list, query, refused }: ListProps) {
  const { base } = usePage();
  const isPlain = isPlainList(query);
  if (list.keys.length === 0) {
    return (
      <>
        {!isPlain && (
          <Banner tone="neutral">
            No keys match.{' '}
            {stateOf(query) !== 'all' && (
              <a href={keyListPath(base, { ...query, state: 'all' })}>Look among all keys</a>
            )}
          </Banner>
        )}
        <Older list={list} query={query} />
      </>
    );
  }
  const canSelect = list.keys.some(({ state }) => state !== 'revoked');
  return (
    <form method="get" action={`${base}/revoke-keys`}>
      {canSelect && (
        <div class="bulk row">
          <HiddenFields fields={parametersOf(query)} />
          <label hidden>
            <input type="checkbox" data-all="key" /> Select all
          </label>
          <button type="submit" class="danger">
            Revoke selected keys…
          </button>
        </div>
      )}
      <Table caption="API keys" kind="keys" columns={columnsOf(base, { list, query, refused })} rows={list.keys}>
        <Older list={list} query={query} />
      </Table>
    </form>
  );
}

type ListedKey = KeyList['keys'][number];

const REFUSED = 'refused_';

/** The columns of the list, two of which sort it. On a narrow screen a key takes two lines. */
function columnsOf(base: string, { list: { facts }, query, refused }: ListProps): TableColumn<ListedKey>[] {
  const reasonsOf = ({ id }: KeyDetails) =>
    facts.flatMap(({ type, keyId }) => (keyId === id && type.startsWith(REFUSED) ? type.slice(REFUSED.length) : []));
  const isSelected = ({ id }: KeyDetails) => refused?.selected.includes(id);
  const sortedBy = (sort: 'name' | 'last', order: 'ascending' | 'descending') => ({
    to: keyListPath(base, { ...query, sort }),
    order: query.sort === sort ? order : undefined,
  });
  return [
    [
      'Name',
      (key) => (
        <>
          {key.state !== 'revoked' && (
            <input type="checkbox" name="key" value={key.id} checked={isSelected(key)} aria-label={labelOf(key)} />
          )}{' '}
          <KeyName subject={key} search={addressOf('', query)} />
          <Match subject={key} search={query.q} />
        </>
      ),
      sortedBy('name', 'ascending'),
    ],
    [
      'Scopes',
      ({ scopes, companies }) => (
        <>
          <Scopes scopes={scopes} />
          {companies !== '' && (
            <span class="minor"> {counted(companyIds(companies).length, 'company', 'companies')}</span>
          )}
        </>
      ),
    ],
    [
      'State',
      (key) => (
        <>
          <State state={stateInList(key)} /> <RefusedMarks reasons={reasonsOf(key)} />
        </>
      ),
    ],
    [
      'Last write',
      ({ lastWrite }) => (lastWrite ? <Ago at={lastWrite.at} /> : 'Never'),
      sortedBy('last', 'descending'),
    ],
    ['Writes, 30 days', ({ usage }) => <SmallChart usage={usage} />],
    ['Expires', (key) => <ShortExpiry subject={key} />],
  ];
}

/** Both keys of a rotation have the same name. */
const labelOf = ({ name, hint, successor, predecessor }: KeyDetails) =>
  successor || predecessor ? `Select ${name} ${hint}` : `Select ${name}`;

/** What of a key a search found, unless every row shows it. */
function Match({ subject, search }: { subject: KeyDetails; search: string | undefined }) {
  const [field, text] = matchOf(subject, search) ?? [];
  if (field === 'Name' || field === 'Hint') return null;
  return (
    <span class="minor">
      {' '}
      {field}: <bdi>{text}</bdi>
    </span>
  );
}

/** A list of ended keys examines a fixed number of keys. */
function Older({ list: { older }, query }: ListProps) {
  const { base } = usePage();
  if (older === undefined) return null;
  return (
    <p class="pages minor">
      {EXAMINED_KEYS} keys were examined for ended ones, the newest first.{' '}
      <a href={keyListPath(base, { ...query, before: older })}>Older keys</a>
    </p>
  );
}
