import type { PropsWithChildren } from 'hono/jsx';
import { dateIn } from '../../../domain/calendar.ts';
import { FACT_TYPES, FACTS, type Fact, type FactKind, type FactType } from '../../../domain/facts.ts';
import type { KeyQuery } from '../../../services/keys/select-keys.ts';
import { Icon } from '../../page/icon.tsx';
import { usePage } from '../page-context.ts';
import { Address, counted } from './components.tsx';
import { Ago, inDays } from './time.tsx';

interface Props {
  facts: readonly Fact[];
}

/** What needs attention: a tile for each type of lost work, then a line of links. Nothing if all is in order. */
export function NeedsAttention({ facts }: Props) {
  const ofType = Map.groupBy(facts, ({ type }) => type);
  if (ofType.size === 0) return null;
  return (
    <section class="attention" aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      {[true, false].map((isLost) => {
        const types = FACT_TYPES.filter((type) => ofType.has(type) && (FACTS[type].tile?.tone === 'danger') === isLost);
        return (
          types.length > 0 && (
            <ul>
              {types.map((type) => (
                <Tile kind={FACTS[type]} facts={ofType.get(type) ?? []}>
                  <Summary type={type} facts={ofType.get(type) ?? []} />
                </Tile>
              ))}
            </ul>
          )
        );
      })}
    </section>
  );
}

function Tile({ kind: { tile }, facts, children }: PropsWithChildren<Props & { kind: FactKind }>) {
  const { base, timeZone } = usePage();
  const [first] = facts;
  if (!tile || !first) return null;
  return (
    <li>
      <a href={`${base}${tile.path(first, (at) => dateIn(timeZone, at))}`} class={tile.tone}>
        <Icon name={tile.icon} />
        <span>
          <strong>{tile.title(facts)}</strong>
          <span class="minor">{children}</span>
        </span>
        <Icon name="right" />
      </a>
    </li>
  );
}

/** The text of a tile: the keys, or the action to take, unless the type has its own text. */
function Summary({ type, facts }: Props & { type: FactType }) {
  const { now } = usePage();
  const [first] = facts;
  if (!first) return null;
  const name = <bdi>{first.keyName}</bdi>;
  switch (type) {
    case 'push_failing':
      return (
        <>
          First failure <Ago at={first.since} />
          {first.detail !== null && `: ${first.detail}`}
        </>
      );
    case 'key_expiring':
      return (
        <>
          First “{name}”, {inDays((first.keyExpiresAt ?? 0) - now)}.
        </>
      );
    case 'key_unused': {
      const never = facts.filter(({ lastAt }) => lastAt === null).length;
      return <>{never > 0 ? `${never} of them never wrote anything.` : 'Revoke keys that no workflow needs.'}</>;
    }
    case 'key_of_former':
      return (
        <>
          Created by <bdi>{first.detail}</bdi>
          {facts.some(({ detail }) => detail !== first.detail) && ' and others'}. Rotate or revoke them.
        </>
      );
    default:
      if (first.keyId === null) return <>{FACTS[type].advice}</>;
      return (
        <>
          {facts.length === 1 ? <>“{name}”</> : `${facts.length} keys`}
          {first.lastAt !== null && (
            <>
              , at least{' '}
              {counted(
                facts.reduce((sum, { count }) => sum + count, 0),
                'request',
              )}
              , last <Ago at={first.lastAt} />
              {first.detail !== null && (
                <>
                  {' '}
                  from <Address address={first.detail} />
                </>
              )}
            </>
          )}
        </>
      );
  }
}

/** What to do about the keys of a list of refused keys. */
export function WhatToDo({ query: { refused } }: { query: KeyQuery }) {
  const type = FACT_TYPES.find((one) => one === `refused_${refused}`);
  return type ? <p class="advice">{FACTS[type].advice}</p> : null;
}
