import type { DayLimit } from '../../../domain/day-limit.ts';
import type { KeyDetails, KeyList } from '../../../services/keys/read-keys.ts';
import type { RefusedUse } from '../../../services/keys/refused-uses.ts';
import type { PageContext } from '../page-context.ts';
import { Expiry, Hint, LinkButton, Notice, OtherKey, State, scopeList, Table, Time } from './components.tsx';
import { organizationLimits, useText } from './day-use.ts';

interface Props extends KeyList {
  context: PageContext;
  /** Today's date in the organization's time zone. */
  today: string;
  /** The daily limit of the organization. */
  dayLimit: DayLimit | null;
  /** Recent refused uses of revoked keys. */
  revokedInUse: readonly RefusedUse[];
  /** Whether this is a later page of the list. */
  continued: boolean;
  hasPsa: boolean;
  /** Whether the administrator just revoked all keys. */
  allRevoked: boolean;
}

/** The organization's keys, live ones first. */
export function KeyListPage({
  context,
  today,
  dayLimit,
  latestDay,
  live,
  ended,
  next,
  revokedInUse,
  continued,
  hasPsa,
  allRevoked,
}: Props) {
  const written = latestDay?.day === today ? latestDay : { records: 0, bytes: 0 };
  return (
    <>
      {allRevoked && <Notice>All keys are revoked. Requests with these keys are now refused.</Notice>}
      {!hasPsa && (
        <Notice tone="warning">
          The plan of this organization does not include PSA. Requests with its keys are refused until the plan includes
          it.
        </Notice>
      )}
      <RevokedInUse uses={revokedInUse} context={context} />
      <div class="actions">
        <LinkButton to={`${context.base}/new-key`}>Create key</LinkButton>
        {live.length + ended.length > 0 && <a href={`${context.base}/keys.csv`}>Download as CSV</a>}
        {live.length > 0 && <a href={`${context.base}/revoke-all`}>Revoke all…</a>}
      </div>
      {!continued && live.length + ended.length > 0 && <p>Today: {useText(written, organizationLimits(dayLimit))}</p>}
      {!continued && live.length > 0 && <Keys caption="Keys in use" keys={live} context={context} />}
      {!continued && live.length === 0 && <Empty />}
      {ended.length > 0 && (
        <>
          <h2>Expired and revoked</h2>
          <Keys caption="Keys that have expired or were revoked" keys={ended} context={context} />
        </>
      )}
      {next && (
        <p>
          <a href={`${context.base}/keys?before=${next}`}>Older keys</a>
        </p>
      )}
    </>
  );
}

/** For more keys than this, one notice replaces the notices per key. */
const MAX_NOTICES = 2;

function RevokedInUse({ uses, context }: { uses: readonly RefusedUse[]; context: PageContext }) {
  if (uses.length > MAX_NOTICES) {
    return (
      <Notice tone="warning">
        At least {uses.length} revoked keys are still in use. See <a href={`${context.base}/refused`}>Refused uses</a>{' '}
        for the keys and the source addresses. Find the automations that use them and give them new keys.
      </Notice>
    );
  }
  return uses.map((use) => (
    <Notice tone="warning">
      The revoked key{' '}
      <a href={`${context.base}/keys/${use.key.id}`}>
        <bdi>{use.key.name}</bdi>
      </a>{' '}
      (<Hint hint={use.key.hint} />) is still in use. The last request was on <Time at={use.lastAt} context={context} />
      {use.sourceAddress && ` from ${use.sourceAddress}`}. Find the automation that uses it and give it a new key.
    </Notice>
  ));
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

const HEADINGS = ['Name', 'Scopes', 'State', 'Last write', 'Expires', 'Created'];

function Keys({ caption, keys, context }: { caption: string; keys: readonly KeyDetails[]; context: PageContext }) {
  return (
    <Table caption={caption} headings={HEADINGS}>
      {keys.map((key) => (
        <tr>
          <th scope="row">
            <a href={`${context.base}/keys/${key.id}`}>
              <bdi>{key.name}</bdi>
            </a>
            <Hint hint={key.hint} />
            {key.successor && (
              <span class="minor">
                Successor: <OtherKey link={key.successor} context={context} />
              </span>
            )}
          </th>
          <td data-label="Scopes">{scopeList(key.scopes)}</td>
          <td data-label="State">
            <State state={key.state} />
          </td>
          <td data-label="Last write">
            <LastWrite of={key} context={context} />
          </td>
          <td data-label="Expires">
            <Expiry of={key} context={context} />
          </td>
          <td data-label="Created">
            <Time at={key.createdAt} context={context} /> <Creator of={key} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** When a key last wrote something, and from where. */
export function LastWrite({ of: { lastWrite }, context }: { of: KeyDetails; context: PageContext }) {
  if (!lastWrite) return <>Never</>;
  return (
    <>
      <Time at={lastWrite.at} context={context} />
      {lastWrite.from && <span class="minor"> from {lastWrite.from}</span>}
    </>
  );
}

/** Who created a key, with a mark if that user is no longer an active administrator. */
export function Creator({ of: { createdBy, creatorActive } }: { of: KeyDetails }) {
  return (
    <span>
      by <bdi>{createdBy}</bdi>
      {!creatorActive && <span class="mark"> no longer active</span>}
    </span>
  );
}
