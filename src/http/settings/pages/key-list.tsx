import type { KeyDetails, KeyList } from '../../../services/keys/read-keys.ts';
import type { RefusedUseRow } from '../../../services/keys/refused-uses.ts';
import { Expiry, Hint, LinkButton, Notice, OtherKey, type Place, State, scopeLabels, Table, Time } from './components.tsx';

interface Props extends KeyList {
  place: Place;
  /** Uses of revoked keys that were refused of late. */
  tried: readonly RefusedUseRow[];
  /** Whether this is a page further back. */
  continued: boolean;
  hasPsa: boolean;
  /** Whether all keys have just been revoked. */
  allRevoked: boolean;
}

/** The organization's keys: those alive first. */
export function KeyListPage({ place, live, ended, next, tried, continued, hasPsa, allRevoked }: Props) {
  return (
    <>
      {allRevoked && <Notice>All keys are revoked. Every request with one of them is refused from now on.</Notice>}
      {!hasPsa && (
        <Notice tone="warning">
          The plan of this organization does not include PSA. Until it does, every request with one of its keys is refused.
        </Notice>
      )}
      <Tried uses={tried} place={place} />
      <div class="actions">
        <LinkButton to={`${place.base}/new-key`}>Create key</LinkButton>
        {live.length + ended.length > 0 && <a href={`${place.base}/keys.csv`}>Download as CSV</a>}
        {live.length > 0 && <a href={`${place.base}/revoke-all`}>Revoke all…</a>}
      </div>
      {!continued && live.length > 0 && <Keys caption="Keys in use" keys={live} place={place} />}
      {!continued && live.length === 0 && <Empty />}
      {ended.length > 0 && (
        <>
          <h2>Expired and revoked</h2>
          <Keys caption="Keys that have expired or were revoked" keys={ended} place={place} />
        </>
      )}
      {next && (
        <p>
          <a href={`${place.base}/keys?before=${next}`}>Older keys</a>
        </p>
      )}
    </>
  );
}

/** More keys than that are not told of one by one. */
const MAX_TOLD = 2;

function Tried({ uses, place }: { uses: readonly RefusedUseRow[]; place: Place }) {
  if (uses.length > MAX_TOLD) {
    return (
      <Notice tone="warning">
        At least {uses.length} revoked keys are still being tried. <a href={`${place.base}/refused`}>Refused uses</a> tells which, and from
        where. Something still has them: find it and give it new keys.
      </Notice>
    );
  }
  return uses.map((use) => (
    <Notice tone="warning">
      The revoked key{' '}
      <a href={`${place.base}/keys/${use.keyId}`}>
        <bdi>{use.keyName}</bdi>
      </a>{' '}
      (<Hint hint={use.keyHint} />) is still being tried, last on <Time at={use.lastAt} place={place} />
      {use.sourceAddress && ` from ${use.sourceAddress}`}. Something still has it: find it and give it a new key.
    </Notice>
  ));
}

function Empty() {
  return (
    <section class="empty">
      <h2>No key is in use</h2>
      <p>
        A key lets an automation (n8n, Make, Zapier, Power Automate, a script) write back into your tickets: it can add internal notes, log
        time, or both, and nothing else. Make one key for each workflow, so that you can see what each of them does and stop one without the
        others.
      </p>
    </section>
  );
}

const HEADINGS = ['Name', 'Scopes', 'State', 'Last write', 'Expires', 'Created'];

function Keys({ caption, keys, place }: { caption: string; keys: readonly KeyDetails[]; place: Place }) {
  return (
    <Table caption={caption} headings={HEADINGS}>
      {keys.map((key) => (
        <tr>
          <th scope="row">
            <a href={`${place.base}/keys/${key.id}`}>
              <bdi>{key.name}</bdi>
            </a>
            <Hint hint={key.hint} />
            {key.successor && (
              <span class="minor">
                Replaced by <OtherKey link={key.successor} place={place} />
              </span>
            )}
          </th>
          <td data-label="Scopes">{scopeLabels(key.scopes)}</td>
          <td data-label="State">
            <State state={key.state} />
          </td>
          <td data-label="Last write">
            <LastWrite of={key} place={place} />
          </td>
          <td data-label="Expires">
            <Expiry of={key} place={place} />
          </td>
          <td data-label="Created">
            <Time at={key.createdAt} place={place} /> <Creator of={key} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** When a key last wrote something, and from where. */
export function LastWrite({ of: { lastWrite }, place }: { of: KeyDetails; place: Place }) {
  if (!lastWrite) return <>None</>;
  return (
    <>
      <Time at={lastWrite.at} place={place} />
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
