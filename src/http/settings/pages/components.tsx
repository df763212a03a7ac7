import type { Child, PropsWithChildren } from 'hono/jsx';
import type { KeyState } from '../../../domain/api-key.ts';
import { fromMinorUnits } from '../../../domain/money.ts';
import { RECORD_KINDS, type RecordKind, type Scope, scopeLabels, writableKinds } from '../../../domain/record-kinds.ts';
import { Icon, type IconName } from '../../page/icon.tsx';
import { usePage } from '../page-context.ts';

type StateInList = KeyState | 'replaced';

const STATES: Record<StateInList, { label: string; icon: IconName }> = {
  active: { label: 'Active', icon: 'active' },
  expiring: { label: 'Expiring', icon: 'hourglass' },
  replaced: { label: 'Replaced', icon: 'rotate' },
  expired: { label: 'Expired', icon: 'expired' },
  revoked: { label: 'Revoked', icon: 'ban' },
};

/** The state as a word and an icon; each state has its own shape. */
export function State({ state }: { state: StateInList }) {
  const { label, icon } = STATES[state];
  return (
    <span class={`state ${state}`}>
      <Icon name={icon} />
      {label}
    </span>
  );
}

export const stateLabel = (state: StateInList) => STATES[state].label;

export const SCOPE_ICONS: Record<RecordKind, IconName> = { note: 'note', time_entry: 'clock' };

export function Scopes({ scopes }: { scopes: readonly Scope[] }) {
  return (
    <span class="chips">
      {writableKinds(scopes).map((kind) => (
        <span class="chip">
          <Icon name={SCOPE_ICONS[kind]} kind={kind} />
          {RECORD_KINDS[kind].scopeLabel}
        </span>
      ))}
    </span>
  );
}

export const scopeList = (scopes: readonly Scope[]) => scopeLabels(scopes).join(', ');

/** A number with separators, such as `20,000`. */
export const formatNumber = (number: number) =>
  new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 }).format(number);

/** An amount without a currency, because the service stores none: `1,234.50`. */
export const money = (minor: number) =>
  new Intl.NumberFormat('en-GB', { minimumFractionDigits: 2 }).format(fromMinorUnits(minor));

/** How many entries of time wait, the same on every page. */
export const waitingText = (count: number) => (count > 9_999 ? '9,999+' : formatNumber(count));

/** A number with its unit: `1 record`, `2 records`. */
export const counted = (number: number, unit: string, many = `${unit}s`) =>
  `${formatNumber(number)} ${number === 1 ? unit : many}`;

/** A key's hint: the part of its value that identifies it. */
export function Hint({ hint }: { hint: string }) {
  return <code class="hint">{hint}</code>;
}

/** An IP address, or an id. It may break after a colon or a hyphen only. */
export function Address({ address }: { address: string }) {
  return (
    <span class="address">
      {address.split(/(?<=[:-])/).map((part) => (
        <>
          {part}
          <wbr />
        </>
      ))}
    </span>
  );
}

const TONES = {
  neutral: 'info',
  good: 'check',
  warning: 'alert',
  danger: 'stop',
} as const satisfies Record<string, IconName>;

interface BannerProps {
  tone?: keyof typeof TONES;
  /** A banner with an id takes the focus when the page opens, even without script. */
  id?: string;
}

/** Screen readers announce it. `good` only for completed actions, `danger` for work that is being lost. */
export function Banner({ tone = 'good', id, children }: PropsWithChildren<BannerProps>) {
  const role = tone === 'warning' || tone === 'danger' ? 'alert' : 'status';
  const focus = id && { id, tabindex: -1, autofocus: true };
  return (
    <div class={`banner ${tone}`} role={role} data-accepted={tone === 'good' || undefined} {...focus}>
      <Icon name={TONES[tone]} />
      <div>{children}</div>
    </div>
  );
}

export function LinkButton({ to, children, kind }: PropsWithChildren<{ to: string; kind?: 'danger' | 'quiet' }>) {
  return (
    <form method="get" action={to}>
      <button type="submit" class={kind}>
        {children}
      </button>
    </form>
  );
}

/** The way back from a form, beside its button. */
export const Cancel = ({ to }: { to: string }) => (
  <a class="button quiet" href={to}>
    Cancel
  </a>
);

/** Downloads a file. On a phone, only screen readers get the whole name. */
export const CsvLink = ({ to, of: what = 'Download' }: { to: string; of?: string }) => (
  <a class="button quiet" href={to}>
    <span class="on-wide">{what} as </span>CSV
  </a>
);

/** A menu that opens without script. Of the menus of one group only one is open at a time. */
export function Menu({
  summary,
  group,
  kind = '',
  children,
}: PropsWithChildren<{ summary: Child; group: string; kind?: string }>) {
  return (
    <details class={`menu ${kind}`.trimEnd()} name={group}>
      <summary>{summary}</summary>
      <div class="pop">{children}</div>
    </details>
  );
}

/** A fact about something, with its name. */
export type NamedFact = readonly [name: string, content: Child];

/** A card of facts. A fact without content is left out. */
export function Facts({ facts }: { facts: readonly NamedFact[] }) {
  return (
    <dl class="facts card">
      {facts.map(
        ([name, content]) =>
          content && (
            <div>
              <dt>{name}</dt>
              <dd>{content}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** A link that sorts a table, and the order if the table is sorted by its column. */
interface Sorting {
  to: string;
  order: 'ascending' | 'descending' | undefined;
}

/** A column of a table: its heading, and a row's cell. The first column identifies the row. */
export type TableColumn<Row> = readonly [heading: string, cell: (row: Row) => Child, sorting?: Sorting];

interface TableProps<Row> {
  caption: string;
  columns: readonly TableColumn<Row>[];
  rows: readonly Row[];
  kind?: string;
}

/** A table. On a narrow screen each row is a card, and `data-label` gives each cell its heading. */
export function Table<Row>({ caption, columns, rows, kind, children }: PropsWithChildren<TableProps<Row>>) {
  return (
    <div class="sheet">
      <table class={kind}>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(([heading, , sorting]) => (
              <th scope="col" aria-sort={sorting?.order}>
                {sorting ? <SortLink heading={heading} {...sorting} /> : heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {columns.map(([heading, cell], index) =>
                index === 0 ? <th scope="row">{cell(row)}</th> : <td data-label={heading}>{cell(row)}</td>,
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {children}
    </div>
  );
}

const SortLink = ({ heading, to, order }: Sorting & { heading: string }) => (
  <a href={to}>
    {heading}
    <Icon name={order === undefined ? 'sort' : order === 'ascending' ? 'up' : 'down'} />
  </a>
);

/** The fields that a form sends without showing them. */
export const HiddenFields = ({ fields }: { fields: readonly (readonly [name: string, value: string])[] }) => (
  <>
    {fields.map(([name, value]) => (
      <input type="hidden" name={name} value={value} />
    ))}
  </>
);

interface SearchProps {
  id: string;
  to: string;
  label: string;
  text: string | undefined;
  /** Sent with the text. */
  fields: Parameters<typeof HiddenFields>[0]['fields'];
}

/** A field that searches a list. */
export const SearchForm = ({ id, to, label, text, fields }: SearchProps) => (
  <search>
    <form method="get" action={to} class="find">
      <label class="visually-hidden" for={id}>
        {label}
      </label>
      <input
        id={id}
        name="q"
        type="search"
        value={text}
        placeholder={label}
        // After a search, Tab continues here and not at the top of the page.
        autofocus={text !== undefined}
        // The longest id: an Idempotency-Key.
        maxlength={255}
        autocomplete="off"
        spellcheck={false}
      />
      <HiddenFields fields={fields} />
      <button type="submit" class="quiet">
        Search
      </button>
    </form>
  </search>
);

/** Why a refused request may be in no list, and how to find its key. */
export function NotRecorded() {
  const { base } = usePage();
  return (
    <>
      Requests without a key of yours, to some wrong paths, or above an address’s limit are not recorded. Of many in one
      minute, only some are. Check the key with <a href={`${base}/which-key`}>Which key is this?</a>
    </>
  );
}

/** The ticket of an entry, with a link to the PSA if the deployment knows its address. */
export function Ticket({ id }: { id: string | null }) {
  const { linkTo } = usePage();
  if (id === null) return <>–</>;
  return linkTo ? (
    <a href={linkTo(id)} rel="noreferrer">
      {id}
    </a>
  ) : (
    <span>{id}</span>
  );
}
