import { companyIds } from '../../../domain/key-settings.ts';
import { EXAMINED_KEYS, type KeyList } from '../../../services/keys/list-keys.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import { type KeyQuery, matchOf, stateInList, stateOf } from '../../../services/keys/select-keys.ts';
import { isPlainList, keyListPath } from '../key-query.ts';
import { addressOf, parametersOf, usePage } from '../page-context.ts';
import { Banner, counted, HiddenFields, Scopes, State, Table, type TableColumn } from './components.tsx';
import { KeyName, RefusedMarks } from './key-facts.tsx';
import { Ago, ShortExpiry } from './time.tsx';
import { SmallChart } from './usage-chart.tsx';

export interface KeysProps {
  list: KeyList;
  query: KeyQuery;
  /** Why the revocation of selected keys was refused. */
  refused?: { why: string; selected: readonly string[] } | undefined;
}

/** The keys of a list, and the button that revokes the selected ones. */
export function Keys({ list, query, refused }: KeysProps) {
  const { base } = usePage();
  if (list.keys.length === 0) {
    return (
      <>
        <Banner tone="neutral">
          {isPlainList(query) ? 'No key is in use.' : 'No keys match.'}{' '}
          {stateOf(query) !== 'all' && <a href={keyListPath(base, { ...query, state: 'all' })}>Look among all keys</a>}
        </Banner>
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
function columnsOf(base: string, { list: { facts }, query, refused }: KeysProps): TableColumn<ListedKey>[] {
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
    ['Writes, 30\u00a0days', ({ usage }) => <SmallChart usage={usage} />],
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
function Older({ list: { older }, query }: KeysProps) {
  const { base } = usePage();
  if (older === undefined) return null;
  return (
    <p class="pages minor">
      {EXAMINED_KEYS} keys were examined for ended ones, the newest first.{' '}
      <a href={keyListPath(base, { ...query, before: older })}>Older keys</a>
    </p>
  );
}
