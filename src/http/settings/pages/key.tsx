import { isLive } from '../../../domain/api-key.ts';
import { formatPolicy, type RateLimitPolicy } from '../../../domain/rate-limit.ts';
import type { AuditEntry } from '../../../services/audit/read-audit-log.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import type { RefusedUse } from '../../../services/keys/refused-uses.ts';
import type { PageContext } from '../page-context.ts';
import { AuditTable } from './audit-log.tsx';
import { Expiry, Hint, LinkButton, Notice, OtherKey, State, scopeList, Time } from './components.tsx';
import { Creator, LastWrite } from './key-list.tsx';
import { RefusedUsesTable } from './refused-uses.tsx';

const REVOKED = new Map([
  ['revoked', 'The key is revoked. Every request with it is refused from now on.'],
  ['already_revoked', 'The key was revoked already.'],
]);
const CHANGED = new Map([
  ['changed', 'Saved. The change counts from the next request on.'],
  ['unchanged', 'Nothing was changed.'],
]);

/** The notice for `?done=…`; undefined once the key's state contradicts it, since the address can be opened again. */
export function noticeFor({ state }: KeyDetails, word = ''): string | undefined {
  return state === 'revoked' ? REVOKED.get(word) : CHANGED.get(word);
}

interface Props {
  context: PageContext;
  subject: KeyDetails;
  defaultLimit: RateLimitPolicy;
  entries: readonly AuditEntry[];
  refused: readonly RefusedUse[];
  done: string | undefined;
}

/** One key with its facts, activity and refused uses. */
export function KeyPage({ context, subject: key, defaultLimit, entries, refused, done }: Props) {
  const address = `${context.base}/keys/${key.id}`;
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
              on <Time at={key.revokedAt} context={context} /> by <bdi>{key.revokedBy}</bdi>
            </>
          )}
        </dd>
        <dt>Scopes</dt>
        <dd>{scopeList(key.scopes)}</dd>
        <dt>Expires</dt>
        <dd>
          <Expiry of={key} context={context} />
        </dd>
        <dt>Limit</dt>
        <dd>{key.limit ? formatPolicy(key.limit) : `${formatPolicy(defaultLimit)}, as for every key`}</dd>
        <dt>Created</dt>
        <dd>
          <Time at={key.createdAt} context={context} /> <Creator of={key} />
        </dd>
        <dt>Last write</dt>
        <dd>
          <LastWrite of={key} context={context} />
        </dd>
        {key.predecessor && (
          <>
            <dt>Replaces</dt>
            <dd>
              <OtherKey link={key.predecessor} context={context} />
            </dd>
          </>
        )}
        {key.successor && (
          <>
            <dt>Replaced by</dt>
            <dd>
              <OtherKey link={key.successor} context={context} />
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
      {entries.length === 0 ? (
        <p>None.</p>
      ) : (
        <AuditTable caption="Latest audit entries of this key" entries={entries} context={context} />
      )}
      <p>
        <a href={`${context.base}/audit?key=${key.id}`}>All entries of this key</a>
      </p>
      <h2>Refused uses</h2>
      <RefusedUsesTable uses={refused} context={context} ofOneKey />
    </>
  );
}
