import { EXPIRING_DAYS } from '../../domain/api-key.ts';
import { dateText } from '../../domain/calendar.ts';
import { FACTS, type Fact, type ShownFactType } from '../../domain/facts.ts';
import { keysOf } from '../../lib/objects.ts';
import { counted, waitingText } from './pages/components.tsx';

/** A tile of "Needs attention", for all facts of one type that an organization has. Lost work is in the tone of danger. */
interface Tile {
  icon: 'alert' | 'ban' | 'clock' | 'hourglass' | 'stop';
  isCalm?: true;
  /** `dateOf` is in the organization's time zone. */
  title: (facts: readonly Fact[], dateOf: (at: number) => string) => string;
  /** What to do about lost work, if alerts say more than a tile needs. */
  advice?: string;
  /** The page with more, below the organization's base path. */
  path: (facts: readonly Fact[]) => string;
}

/** The page of the key that facts of one type are about, or the list of these keys. */
function keysAbout(facts: readonly Fact[]): string {
  const [first, ...others] = new Set(facts.map(({ keyId }) => keyId));
  return others.length === 0 ? `/keys/${first}` : `/keys?fact=${facts[0]?.type}`;
}

const keys = (one: string, many: string) => (facts: readonly Fact[]) =>
  counted(new Set(facts.map(({ keyId }) => keyId)).size, one, many);
/** The words before the number of all requests of facts, if it is a lower bound. */
export const atLeast = (facts: readonly Pick<Fact, 'isMinimum'>[], at: 'At' | 'at' = 'at') =>
  facts.some(({ isMinimum }) => isMinimum === 1) ? `${at} least ` : '';
const requests = (facts: readonly Fact[]) => facts.reduce((sum, { count }) => sum + count, 0);

const TILES: Record<ShownFactType, Tile> = {
  refused_by_psa: {
    icon: 'ban',
    title: (facts) => `${counted(requests(facts), 'record')} refused by your PSA`,
    advice: 'Enter them in your PSA by hand, or have them sent again.',
    path: ([first]) =>
      first?.subject === 'time_entry' ? '/time?state=refused' : `/audit?action=${first?.subject}.refused`,
  },
  refused_expired: {
    icon: 'stop',
    title: keys('expired key is still in use', 'expired keys are still in use'),
    path: keysAbout,
  },
  refused_idempotency_mismatch: {
    icon: 'alert',
    title: (facts) => `${atLeast(facts, 'At')}${counted(requests(facts), 'write may be lost', 'writes may be lost')}`,
    path: (facts) => (facts.length === 1 ? `${keysAbout(facts)}#lost` : '/refused#lost'),
  },
  push_failing: {
    icon: 'alert',
    title: ([first]) => (first?.level === 1 ? 'Writes do not reach your PSA' : 'Writes are not sent to your PSA'),
    path: () => '/push',
  },
  refused_revoked: {
    icon: 'ban',
    title: keys('revoked key is still in use', 'revoked keys are still in use'),
    path: keysAbout,
  },
  refused_scope_missing: { icon: 'alert', title: keys('key lacks a scope', 'keys lack a scope'), path: keysAbout },
  refused_address_not_allowed: {
    icon: 'stop',
    title: keys('key was used from elsewhere', 'keys were used from elsewhere'),
    path: keysAbout,
  },
  refused_daily_limit_reached: {
    icon: 'hourglass',
    title: keys('key reached a daily limit', 'keys reached a daily limit'),
    path: keysAbout,
  },
  key_expiring: {
    icon: 'hourglass',
    title: (facts) => `${counted(facts.length, 'key expires', 'keys expire')} within ${EXPIRING_DAYS} days`,
    path: keysAbout,
  },
  time_waiting: {
    icon: 'clock',
    isCalm: true,
    title: ([first], dateOf) =>
      first
        ? `${waitingText(first.count)} time ${first.count === 1 ? 'entry waits' : 'entries wait'} for approval, the oldest since ${dateText(dateOf(first.since))}${first.level > 1 ? ': it keeps old records from being deleted' : ''}`
        : '',
    path: () => '/time',
  },
};

/** The tile for facts of a type; undefined for one that is not shown. */
export function tileOf(facts: readonly Fact[], dateOf: (at: number) => string) {
  const type = keysOf(TILES).find((one) => one === facts[0]?.type);
  if (type === undefined) return undefined;
  const { icon, isCalm, title, advice, path } = TILES[type];
  const tone = 'losesWork' in FACTS[type] ? 'danger' : isCalm ? undefined : 'warning';
  return { icon, tone, title: title(facts, dateOf), advice, path: path(facts) };
}
