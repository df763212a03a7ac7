import type { KeyState } from '../../../domain/api-key.ts';
import { DAY_MS, dateIn, dateText, endOfDate } from '../../../domain/calendar.ts';
import { usePage } from '../page-context.ts';

/** A time as `2026-11-22 21:54:12 UTC`. */
export const utcText = (at: number) => `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** A time in the organization's time zone, with UTC on hover; or in other words, with that time on hover. */
export function Time({ at, text }: { at: number; text?: string | undefined }) {
  const { timeZone } = usePage();
  const local = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone }).format(at);
  if (text !== undefined) return <span title={local}>{text}</span>;
  const inUtc = utcText(at);
  return (
    <time datetime={inUtc.replace(' UTC', 'Z')} title={inUtc}>
      {local}
    </time>
  );
}

/** The time of day with seconds: `16:54:12`. */
export const clockTime = (at: number, timeZone: string) =>
  new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', timeZone }).format(at);

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export function Ago({ at }: { at: number }) {
  const { now } = usePage();
  return <Time at={at} text={ago(now - at)} />;
}

/** A span of time in the past in words, months and years rounded: `just now`, `5 min ago`, `2 months ago`. */
function ago(ms: number): string {
  const days = Math.floor(ms / DAY_MS);
  if (ms < MINUTE_MS) return 'just now';
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ago`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h ago`;
  if (days < 60) return days === 1 ? '1 day ago' : `${days} days ago`;
  return days < 730 ? `${Math.round(days / 30.44)} months ago` : `${Math.round(days / 365.25)} years ago`;
}

/** A span of time in the future in words: `in 59 min`, `in 5 h`, `in 5 days`. */
function inTime(ms: number): string {
  const days = Math.round(ms / DAY_MS);
  if (ms < HOUR_MS) return `in ${Math.max(1, Math.floor(ms / MINUTE_MS))} min`;
  if (ms < DAY_MS) return `in ${Math.floor(ms / HOUR_MS)} h`;
  return days === 1 ? 'in 1 day' : `in ${days} days`;
}

interface ExpiryProps {
  subject: { expiresAt: number | null; state?: KeyState };
}

/** When a key expires, usually at the end of a day. If that is soon, also in how many days. */
export function Expiry({ subject: { expiresAt, state } }: ExpiryProps) {
  const { now, timeZone } = usePage();
  if (expiresAt === null) return <>Never</>;
  const lastDay = dateIn(timeZone, expiresAt - 1);
  const isEndOfDay = endOfDate(lastDay, timeZone) === expiresAt;
  return (
    <span>
      {isEndOfDay && 'end of '}
      <Time at={expiresAt} text={isEndOfDay ? dateText(lastDay) : undefined} />
      {state === 'expiring' && <span class="minor"> ({inTime(expiresAt - now)})</span>}
    </span>
  );
}

/** When a key expires or expired, in the few words of a list. */
export function ShortExpiry({ subject: { expiresAt, state } }: ExpiryProps) {
  const { now, timeZone } = usePage();
  if (state === 'revoked') return <span class="dash">–</span>;
  if (expiresAt === null) return <>Never</>;
  if (expiresAt <= now) return <Ago at={expiresAt} />;
  const text = state === 'expiring' ? inTime(expiresAt - now) : dateText(dateIn(timeZone, expiresAt - 1));
  return <Time at={expiresAt} text={text} />;
}
