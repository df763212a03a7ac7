import { isLive } from '../../../domain/api-key.ts';
import { formatPolicy, type RateLimitPolicy } from '../../../domain/rate-limit.ts';
import type { AuditRow } from '../../../services/audit/read-audit-log.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import type { RefusedUseRow } from '../../../services/keys/refused-uses.ts';
import { AuditTable } from './audit-log.tsx';
import { Creator, LastWrite } from './key-list.tsx';
import { Expiry, Hint, LinkButton, Notice, OtherKey, type Place, State, scopeLabels, Time } from './components.tsx';
import { RefusedUsesTable } from './refused-uses.tsx';

const REVOKED = new Map([
  ['revoked', 'The key is revoked. Every request with it is refused from now on.'],
  ['already_revoked', 'The key was revoked already.'],
]);
const CHANGED = new Map([
  ['changed', 'Saved. The change counts from the next request on.'],
  ['unchanged', 'Nothing was changed.'],
]);

/** What was done to a key, in words, by the word in the page's address; that address can be opened again when it is not true any more. */
export function doneTo({ state }: KeyDetails, word = ''): string | undefined {
  return state === 'revoked' ? REVOKED.get(word) : CHANGED.get(word);
}

interface Props {
  place: Place;
  subject: KeyDetails;
  defaultLimit: RateLimitPolicy;
  entries: readonly AuditRow[];
  refused: readonly RefusedUseRow[];
  done: string | undefined;
}

/** One key, and all that is known of it. */
export function KeyPage({ place, subject: key, defaultLimit, entries, refused, done }: Props) {
  const address = `${place.base}/keys/${key.id}`;
  return (
    <>
      {done && <Notice>{done}</Notice>}
      <dl class="facts">
        <dt>Hint</dt>
        <dd>
          <Hint hint={key.hint} />
        </dd>
        <dt>State</dt>
        <dd>
          <State state={key.state} />
          {key.revokedAt !== null && (
            <>
              {' '}
              on <Time at={key.revokedAt} place={place} /> by <bdi>{key.revokedBy}</bdi>
            </>
          )}
        </dd>
        <dt>Scopes</dt>
        <dd>{scopeLabels(key.scopes)}</dd>
        <dt>Expires</dt>
        <dd>
          <Expiry of={key} place={place} />
        </dd>
        <dt>Limit</dt>
        <dd>{key.limit ? formatPolicy(key.limit) : `${formatPolicy(defaultLimit)}, as for every key`}</dd>
        <dt>Created</dt>
        <dd>
          <Time at={key.createdAt} place={place} /> <Creator of={key} />
        </dd>
        <dt>Last write</dt>
        <dd>
          <LastWrite of={key} place={place} />
        </dd>
        {key.predecessor && (
          <>
            <dt>Replaces</dt>
            <dd>
              <OtherKey link={key.predecessor} place={place} />
            </dd>
          </>
        )}
        {key.successor && (
          <>
            <dt>Replaced by</dt>
            <dd>
              <OtherKey link={key.successor} place={place} />
            </dd>
          </>
        )}
      </dl>
      {key.state !== 'revoked' && (
        <div class="actions">
          {isLive(key.state) && !key.successor && <LinkButton to={`${address}/rotate`}>Rotate</LinkButton>}
          {isLive(key.state) && (
            <LinkButton to={`${address}/change`} kind="quiet">
              Change name or limit
            </LinkButton>
          )}
          <LinkButton to={`${address}/revoke`} kind="danger">
            {key.successor ? 'End now' : 'Revoke'}
          </LinkButton>
        </div>
      )}
      <h2>Latest audit entries</h2>
      {entries.length === 0 ? <p>None.</p> : <AuditTable caption="Latest audit entries of this key" rows={entries} place={place} />}
      <p>
        <a href={`${place.base}/audit?key=${key.id}`}>All entries of this key</a>
      </p>
      <h2>Refused uses</h2>
      <RefusedUsesTable uses={refused} place={place} ofOneKey />
    </>
  );
}
