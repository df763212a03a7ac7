import type { ListedKey } from '../../../services/keys/list-keys.ts';
import { type KeyQuery, type KeySort, stateInList } from '../../../services/keys/select-keys.ts';
import { Icon } from '../../page/icon.tsx';
import { keyListPath } from '../key-query.ts';
import { usePage } from '../page-context.ts';
import { Bars } from './bars.tsx';
import { Scopes, State } from './components.tsx';
import { KeyName } from './key-facts.tsx';
import { Ago, ShortExpiry } from './time.tsx';

interface Props {
  keys: readonly ListedKey[];
  query: KeyQuery;
  /** Whether keys can be selected, to revoke them together. */
  canSelect: boolean;
}

/** The keys, one line each. On a narrow screen a key takes two lines. */
export function KeyTable({ keys, query, canSelect }: Props) {
  const sort = { query };
  return (
    <table class="keys">
      <caption class="visually-hidden">API keys</caption>
      <thead>
        <tr>
          <SortableHeading {...sort} by="name" label="Name" />
          <th scope="col" class="scopes">
            Scopes
          </th>
          <th scope="col">State</th>
          <SortableHeading {...sort} by="last" label="Last write" />
          <th scope="col" class="use">
            Writes, 30 days
          </th>
          <th scope="col">Expires</th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <KeyRow of={key} canSelect={canSelect && key.state !== 'revoked'} />
        ))}
      </tbody>
    </table>
  );
}

/** A heading that sorts by its column: names from A to Z, the latest write first. */
function SortableHeading({ by, label, query }: Pick<Props, 'query'> & { by: KeySort; label: string }) {
  const { base } = usePage();
  const isSorted = query.sort === by;
  const isDescending = by === 'last';
  return (
    <th scope="col" aria-sort={isSorted ? (isDescending ? 'descending' : 'ascending') : undefined}>
      <a href={keyListPath(base, { ...query, sort: by })}>
        {label}
        <Icon name={isSorted ? (isDescending ? 'down' : 'up') : 'sort'} />
      </a>
    </th>
  );
}

function KeyRow({ of: key, canSelect }: { of: ListedKey; canSelect: boolean }) {
  return (
    <tr>
      <th scope="row">
        {canSelect && <input type="checkbox" name="key" value={key.id} aria-label={`Select ${key.name} ${key.hint}`} />}{' '}
        <KeyName of={key} />
      </th>
      <td class="scopes">
        <Scopes scopes={key.scopes} />
      </td>
      <td>
        <State state={stateInList(key)} />
      </td>
      <td>
        {key.lastWrite ? (
          <>
            <span class="on-card">Wrote </span>
            <Ago at={key.lastWrite.at} />
          </>
        ) : (
          <>
            Never<span class="on-card"> wrote</span>
          </>
        )}
      </td>
      <td class="use">
        <Bars usage={key.usage} />
      </td>
      <td>
        <ShortExpiry of={key} />
      </td>
    </tr>
  );
}
