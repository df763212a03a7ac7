import type { KeyDetails, KeyList } from '../../../services/keys/read-keys.ts';
import type { RefusedUse } from '../../../services/keys/refused-uses.ts';
import type { PageContext } from '../page-context.ts';
import { Expiry, Hint, LinkButton, Notice, OtherKey, State, scopeList, Table, Time } from './components.tsx';

interface Props extends KeyList {
  context: PageContext;
  /** Recent uses of revoked keys. */
  revokedInUse: readonly RefusedUse[];
  /** Whether this is a page further back. */
  continued: boolean;
  hasPsa: boolean;
  /** Whether all keys have just been revoked. */
  allRevoked: boolean;
}

/** The organization's keys: those alive first. */
export function KeyListPage({ context, live, ended, next, revokedInUse, continued, hasPsa, allRevoked }: Props) {
  return (
    <>
      {allRevoked && <Notice>All keys are revoked. Every request with one of them is refused from now on.</Notice>}
      {!hasPsa && (
        <Notice tone="warning">
          The plan of this organization does not include PSA. Until it does, every request with one of its keys is
          refused.
        </Notice>
      )}
      <RevokedInUse uses={revokedInUse} context={context} />
      <div class="actions">
        <LinkButton to={`${context.base}/new-key`}>Create key</LinkButton>
        {live.length + ended.length > 0 && <a href={`${context.base}/keys.csv`}>Download as CSV</a>}
        {live.length > 0 && <a href={`${context.base}/revoke-all`}>Revoke all…</a>}
      </div>
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

/** More keys than this get one notice together. */
const MAX_NOTICES = 2;

function RevokedInUse({ uses, context }: { uses: readonly RefusedUse[]; context: PageContext }) {
  if (uses.length > MAX_NOTICES) {
    return (
      <Notice tone="warning">
        At least {uses.length} revoked keys are still being tried. <a href={`${context.base}/refused`}>Refused uses</a>{' '}
        tells which, and from where. Something still has them: find it and give it new keys.
      </Notice>
    );
  }
  return uses.map((use) => (
    <Notice tone="warning">
      The revoked key{' '}
      <a href={`${context.base}/keys/${use.key.id}`}>
        <bdi>{use.key.name}</bdi>
      </a>{' '}
      (<Hint hint={use.key.hint} />) is still being tried, last on <Time at={use.lastAt} context={context} />
      {use.sourceAddress && ` from ${use.sourceAddress}`}. Something still has it: find it and give it a new key.
    </Notice>
  ));
}

function Empty() {
  return (
    <section class="empty">
      <h2>No key is in use</h2>
      <p>
        A key lets an automation (n8n, Make, Zapier, Power Automate, a script) write back into your tickets: it can add
        internal notes, log time, or both, and nothing else. Make one key for each workflow, so that you can see what
        each of them does and stop one without the others.
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
                Replaced by <OtherKey link={key.successor} context={context} />
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
  if (!lastWrite) return <>None</>;
  return (
    <>
      <Time at={lastWrite.at} context={context} />
      {lastWrite.from && <span class="minor"> from {lastWrite.from}</span>}
    </>
  );
}

/** Who made a key, marked when that person no longer is an administrator. */
export function Creator({ of: { createdBy, creatorActive } }: { of: KeyDetails }) {
  return (
    <span>
      by <bdi>{createdBy}</bdi>
      {!creatorActive && <span class="mark"> no longer active</span>}
    </span>
  );
}
