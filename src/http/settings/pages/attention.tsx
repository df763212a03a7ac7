import { dateIn } from '../../../domain/calendar.ts';
import { FACT_TYPES, FACTS, type Fact, type FactType, isLostWork } from '../../../domain/facts.ts';
import { Icon } from '../../page/icon.tsx';
import { usePage } from '../page-context.ts';
import { Address, counted } from './components.tsx';
import { Ago } from './time.tsx';

/** What needs attention: a tile for each type of lost work, then a line of links. Nothing if all is in order. */
export function NeedsAttention({ facts }: { facts: readonly Fact[] }) {
  const ofType = Map.groupBy(facts, ({ type }) => type);
  if (ofType.size === 0) return null;
  return (
    <section class="attention" aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      {[true, false].map((isLost) => {
        const types = FACT_TYPES.filter((type) => ofType.has(type) && isLostWork(type) === isLost);
        return (
          types.length > 0 && (
            <ul>
              {types.map((type) => (
                <Tile type={type} facts={ofType.get(type) ?? []} />
              ))}
            </ul>
          )
        );
      })}
    </section>
  );
}

function Tile({ type, facts }: { type: FactType; facts: readonly Fact[] }) {
  const { base, timeZone } = usePage();
  const { tile, advice } = FACTS[type];
  const [first] = facts;
  if (!tile || !first) return null;
  return (
    <li>
      <a href={`${base}${tile.path(first, (at) => dateIn(timeZone, at))}`} class={tile.tone}>
        <Icon name={tile.icon} />
        <span>
          <strong>{tile.title(facts)}</strong>
          {isLostWork(type) && (
            <span class="minor">{first.keyId === null ? advice : <LostWork facts={facts} first={first} />}</span>
          )}
        </span>
      </a>
    </li>
  );
}

/** The keys whose work is lost, how often, and since when from where. */
function LostWork({ facts, first: { keyName, lastAt, detail } }: { facts: readonly Fact[]; first: Fact }) {
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
      , at least {counted(requests, 'request')}
      {lastAt !== null && (
        <>
          , last <Ago at={lastAt} />
        </>
      )}
      {detail !== null && (
        <>
          {' '}
          from <Address address={detail} />
        </>
      )}
    </>
  );
}
