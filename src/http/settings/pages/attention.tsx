import { dateIn } from '../../../domain/calendar.ts';
import { type FoundFact, isLostWork } from '../../../domain/facts.ts';
import { Icon } from '../../page/icon.tsx';
import { atLeast, tileOf } from '../fact-tiles.ts';
import { usePage } from '../page-context.ts';
import { Address, counted } from './components.tsx';
import { Ago } from './time.tsx';

/** What needs attention, by urgency: a tile for each type of lost work, then a line of links. Nothing if all is in order. */
export function NeedsAttention({ facts }: { facts: readonly FoundFact[] }) {
  if (facts.length === 0) return null;
  return (
    <section class="attention" aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      {[true, false].map((isLost) => {
        const shown = facts.filter((fact) => isLostWork(fact) === isLost);
        return (
          shown.length > 0 && (
            <ul>
              {[...Map.groupBy(shown, ({ type }) => type).values()].map((ofType) => (
                <Tile facts={ofType} />
              ))}
            </ul>
          )
        );
      })}
    </section>
  );
}

/** For the facts of one type. */
function Tile({ facts }: { facts: readonly FoundFact[] }) {
  const { base, timeZone } = usePage();
  const [first] = facts;
  const tile = tileOf(facts, (at) => dateIn(timeZone, at));
  if (!first || !tile) return null;
  return (
    <li>
      <a href={`${base}${tile.path}`} class={tile.tone}>
        <Icon name={tile.icon} />
        <span>
          <strong>{tile.title}</strong>
          {isLostWork(first) && (
            <span class="minor">
              {first.keyId === null ? (tile.advice ?? first.kind.advice) : <LostWork facts={facts} first={first} />}
            </span>
          )}
        </span>
      </a>
    </li>
  );
}

/** The keys whose work is lost, how often, and since when from where. */
function LostWork({
  facts,
  first: { keyName, lastAt, sourceAddress },
}: {
  facts: readonly FoundFact[];
  first: FoundFact;
}) {
  const requests = facts.reduce((sum, { count }) => sum + count, 0);
  return (
    <>
      {facts.length === 1 ? (
        <>
          “<bdi>{keyName}</bdi>”
        </>
      ) : (
        `${facts.length} keys`
      )}
      , {atLeast(facts)}
      {counted(requests, 'request')}
      {lastAt !== null && (
        <>
          , last <Ago at={lastAt} />
        </>
      )}
      {sourceAddress !== null && (
        <>
          {' '}
          from <Address address={sourceAddress} />
        </>
      )}
    </>
  );
}
