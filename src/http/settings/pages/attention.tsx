import type { Child, PropsWithChildren } from 'hono/jsx';
import type { RefusedUseReason } from '../../../domain/refused-use.ts';
import {
  type Attention,
  EXPIRING_DAYS,
  type REASONS_FOR_ATTENTION,
  type RefusedReason,
} from '../../../services/keys/attention.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import type { ReviewDue } from '../../../services/keys/read-reviews.ts';
import type { KeyQuery } from '../../../services/keys/select-keys.ts';
import { Icon, type IconName } from '../../page/icon.tsx';
import { keyListPath } from '../key-query.ts';
import type { PageContext } from '../page-context.ts';
import { Address, counted } from './components.tsx';
import { Ago, inDays } from './time.tsx';

type Reason = (typeof REASONS_FOR_ATTENTION)[number];

interface RefusedTile {
  icon: IconName;
  tone: 'danger' | 'warning';
  title: (keys: number, uses: number) => string;
  /** What to do about it, above the list of these keys. */
  help: string;
}

const plural = (number: number, one: string, many: string) => `${number} ${number === 1 ? one : many}`;

const REFUSED: Record<Reason, RefusedTile> = {
  expired: {
    icon: 'stop',
    tone: 'danger',
    title: (keys) => plural(keys, 'expired key is still in use', 'expired keys are still in use'),
    help: 'These keys have expired, and an automation still uses them: all of its requests are refused. Create a new key, enter it in the automation, and revoke the expired key.',
  },
  idempotency_mismatch: {
    icon: 'alert',
    tone: 'danger',
    title: (_, uses) => plural(uses, 'write may be lost', 'writes may be lost'),
    help: 'An automation with one of these keys used an Idempotency-Key again for a different request. The response was 200 with the earlier record, and nothing was written. Build the Idempotency-Key from the ID of the event, and check that this ID is never empty. An AI agent that words a retry differently is counted too; then nothing is lost.',
  },
  revoked: {
    icon: 'ban',
    tone: 'warning',
    title: (keys) => plural(keys, 'revoked key is still in use', 'revoked keys are still in use'),
    help: 'These keys are revoked, and requests with them still arrive. Find the automation at the source address, and give it a new key or turn it off.',
  },
  scope_missing: {
    icon: 'alert',
    tone: 'warning',
    title: (keys) => plural(keys, 'key lacks a scope', 'keys lack a scope'),
    help: 'An automation with one of these keys writes a kind of record that the key does not allow. The scopes of a key cannot be changed: create a key with both scopes, enter it in the automation, and revoke the old key.',
  },
  address_not_allowed: {
    icon: 'stop',
    tone: 'warning',
    title: (keys) => plural(keys, 'key was used from elsewhere', 'keys were used from elsewhere'),
    help: 'Requests with these keys came from an address outside their allowed networks, and were refused. If the automation has moved, add its network to the key. If you do not know the address, another person may have the key: rotate it.',
  },
  daily_limit_reached: {
    icon: 'hourglass',
    tone: 'warning',
    title: (keys) => plural(keys, 'key reached a daily limit', 'keys reached a daily limit'),
    help: 'Requests with these keys were refused because the daily limit of the key or of the organization was reached. Check what the automation writes; if that is intended, raise the limit of the key.',
  },
};

/** What the keys of this reason need, if it is one of those that need attention. */
const refusedTile = (reason: RefusedUseReason): RefusedTile | undefined =>
  Object.entries(REFUSED).find(([one]) => one === reason)?.[1];

interface Props {
  attention: Attention;
  /** What modules add, first in the list. */
  tiles: Child[];
  context: PageContext;
}

/** What needs attention, each with a link to its keys or entries. Nothing if all is in order. */
export function NeedsAttention({ attention, tiles, context }: Props) {
  const { refused, expiring, unused, unusedDays, ofFormer, review } = attention;
  const isInOrder = refused.length + expiring.length + unused.length + ofFormer.length === 0;
  if (isInOrder && !review && tiles.length === 0) return null;
  const to = (query: Partial<KeyQuery>) => keyListPath(context.base, { state: 'current', ...query });
  const never = unused.filter(({ lastWrite }) => lastWrite === null).length;
  return (
    <section class="attention" aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      <ul>
        {tiles}
        {refused.map((one) => (
          <RefusedKeys of={one} context={context} />
        ))}
        {expiring.length > 0 && (
          <Tile
            to={to({ expires: EXPIRING_DAYS, sort: 'expires' })}
            icon="hourglass"
            tone="warning"
            title={`${counted(expiring.length, 'key')} ${expiring.length === 1 ? 'expires' : 'expire'} within ${EXPIRING_DAYS} days`}
          >
            <FirstToExpire of={expiring} now={context.now} />
          </Tile>
        )}
        {unused.length > 0 && (
          <Tile
            to={to({ unusedDays, sort: 'last', reversed: true })}
            icon="clock"
            title={`${counted(unused.length, 'key')} unused for ${counted(unusedDays, 'day')}`}
          >
            {never > 0 ? `${never} of them never wrote anything.` : 'Revoke those that no workflow needs.'}
          </Tile>
        )}
        {ofFormer.length > 0 && (
          <Tile
            to={to({ creator: 'former' })}
            icon="user"
            title={`${counted(ofFormer.length, 'key')} of former administrators`}
          >
            Created by <bdi>{ofFormer[0]?.createdBy}</bdi>
            {new Set(ofFormer.map(({ createdById }) => createdById)).size > 1 && ' and others'}. Rotate or revoke them.
          </Tile>
        )}
        {review && (
          <Tile to={`${context.base}/review`} icon="check" tone="warning" title={reviewTitle(review)}>
            Decide for each key whether it is still needed.
          </Tile>
        )}
      </ul>
    </section>
  );
}

function reviewTitle({ daysLeft }: ReviewDue): string {
  if (daysLeft < 0) return 'An access review is overdue';
  return `An access review is due ${daysLeft === 0 ? 'today' : `in ${counted(daysLeft, 'day')}`}`;
}

function RefusedKeys({ of, context }: { of: RefusedReason; context: PageContext }) {
  const tile = refusedTile(of.reason);
  if (!tile) return null;
  const { keys, uses, keyName, lastAt, sourceAddress } = of;
  return (
    <Tile
      to={keyListPath(context.base, { refused: of.reason, state: 'all' })}
      icon={tile.icon}
      tone={tile.tone}
      title={tile.title(keys, uses)}
    >
      {keys === 1 ? (
        <>
          “<bdi>{keyName}</bdi>”
        </>
      ) : (
        `${keys} keys`
      )}
      , at least {counted(uses, 'request')}, last <Ago at={lastAt} context={context} />
      {sourceAddress && (
        <>
          {' '}
          from <Address address={sourceAddress} />
        </>
      )}
    </Tile>
  );
}

function FirstToExpire({ of: [first], now }: { of: readonly KeyDetails[]; now: number }) {
  if (!first || first.expiresAt === null) return null;
  return (
    <>
      First “<bdi>{first.name}</bdi>”, {inDays(first.expiresAt - now)}.
    </>
  );
}

interface TileProps {
  to: string;
  icon: IconName;
  tone?: 'danger' | 'warning';
  title: string;
}

export function Tile({ to, icon, tone, title, children }: PropsWithChildren<TileProps>) {
  return (
    <li>
      <a href={to} class={tone}>
        <Icon name={icon} />
        <span>
          <strong>{title}</strong>
          <span class="minor">{children}</span>
        </span>
        <Icon name="right" />
      </a>
    </li>
  );
}

/** What to do about the keys of a filtered list. */
export function WhatToDo({ query: { refused } }: { query: KeyQuery }) {
  const tile = refused && refusedTile(refused);
  return tile ? <p class="advice">{tile.help}</p> : null;
}
