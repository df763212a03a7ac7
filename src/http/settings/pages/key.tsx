import { isLive } from '../../../domain/api-key.ts';
import { type DayLimit, lower } from '../../../domain/day-limit.ts';
import type { RateLimitPolicy } from '../../../domain/rate-limit.ts';
import type { AuditEntry } from '../../../services/audit/read-audit-log.ts';
import type { ChainDay, KeyDetails } from '../../../services/keys/read-keys.ts';
import type { RefusedUse } from '../../../services/keys/refused-uses.ts';
import type { PageContext } from '../page-context.ts';
import { AuditTable } from './audit-log.tsx';
import { Hint, LinkButton, Notice, State, scopeList } from './components.tsx';
import { limitsText, useText } from './day-use.ts';
import { Creator, LastWrite, OtherKey } from './key-facts.tsx';
import { RefusedUsesTable } from './refused-uses.tsx';
import { Expiry, Time } from './time.tsx';

const REVOKED_NOTICES = new Map([
  ['revoked', 'The key is revoked. Requests with it are now refused.'],
  ['already_revoked', 'The key was already revoked.'],
]);
const LIVE_NOTICES = new Map([
  ['changed', 'Saved. The change takes effect with the next request.'],
  ['unchanged', 'No changes to save.'],
]);

/**
 * The notice for `?done=…`; undefined if the key's state contradicts it, since the URL can be
 * reopened later.
 */
export function noticeFor({ state }: KeyDetails, done = ''): string | undefined {
  return state === 'revoked' ? REVOKED_NOTICES.get(done) : LIVE_NOTICES.get(done);
}

interface Props {
  context: PageContext;
  subject: KeyDetails;
  defaultLimit: RateLimitPolicy;
  defaultDayLimit: DayLimit | null;
  /** What the key's chain has written today. */
  written: ChainDay;
  entries: readonly AuditEntry[];
  refused: readonly RefusedUse[];
  done: string | undefined;
}

const limitText = ({ quota, windowMs }: RateLimitPolicy) => `${quota} requests per ${windowMs / 1000} seconds`;

/** One key with its details, latest activity and refused uses. */
export function KeyPage({
  context,
  subject: key,
  defaultLimit,
  defaultDayLimit,
  written,
  entries,
  refused,
  done,
}: Props) {
  const path = `${context.base}/keys/${key.id}`;
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
        <dt>Request limit</dt>
        <dd>{key.limit ? limitText(key.limit) : `${limitText(defaultLimit)} (the limit for all keys)`}</dd>
        <DayFacts of={key} defaultDayLimit={defaultDayLimit} written={written} />
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
            <dt>Predecessor</dt>
            <dd>
              <OtherKey link={key.predecessor} context={context} />
            </dd>
          </>
        )}
        {key.successor && (
          <>
            <dt>Successor</dt>
            <dd>
              <OtherKey link={key.successor} context={context} />
            </dd>
          </>
        )}
      </dl>
      {key.state !== 'revoked' && (
        <div class="actions">
          {isLive(key.state) && !key.successor && <LinkButton to={`${path}/rotate`}>Rotate</LinkButton>}
          {isLive(key.state) && (
            <LinkButton to={`${path}/change`} kind="quiet">
              Change name or limits
            </LinkButton>
          )}
          <LinkButton to={`${path}/revoke`} kind="danger">
            {key.successor ? 'Revoke now' : 'Revoke'}
          </LinkButton>
        </div>
      )}
      <h2>Latest audit entries</h2>
      {entries.length === 0 ? (
        <p>No audit entries.</p>
      ) : (
        <AuditTable caption="Latest audit entries for this key" entries={entries} context={context} />
      )}
      <p>
        <a href={`${context.base}/audit?key=${key.id}`}>All audit entries for this key</a>
      </p>
      <h2>Refused uses</h2>
      <RefusedUsesTable uses={refused} context={context} forOneKey />
    </>
  );
}

interface DayProps {
  of: KeyDetails;
  defaultDayLimit: DayLimit | null;
  written: ChainDay;
}

/** The daily limits that apply to a key, and what its chain has used of them today. */
function DayFacts({ of: { dayLimit, predecessor, successor }, defaultDayLimit, written }: DayProps) {
  const limits = {
    records: lower(defaultDayLimit?.records, dayLimit.records),
    minutes: dayLimit.minutes,
    bytes: defaultDayLimit?.bytes ?? null,
  };
  const hasOwn = dayLimit.records !== null || dayLimit.minutes !== null;
  return (
    <>
      <dt>Daily limits</dt>
      <dd>
        {limitsText(limits) || 'None'}
        {!hasOwn && defaultDayLimit && ' (the limits for all keys)'}
      </dd>
      <dt>Today</dt>
      <dd>
        {useText(written, limits)}
        {(predecessor || successor) && <span class="minor"> (with the other keys of its rotation)</span>}
      </dd>
    </>
  );
}
