import type { KeyState } from '../../../domain/api-key.ts';
import { DAY_MS, dateIn, dateText, endOfDate } from '../../../domain/calendar.ts';
import { usePage } from '../page-context.ts';
import { counted } from './components.tsx';

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

/** A time in the few words of a list: without the year if that is this year. */
export function ShortTime({ at }: { at: number }) {
  const { now, timeZone } = usePage();
  const isThisYear = dateIn(timeZone, at).slice(0, 4) === dateIn(timeZone, now).slice(0, 4);
  const local = new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    year: isThisYear ? undefined : 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZone,
  });
  return <Time at={at} text={local.format(at)} />;
}

/** The same without the date, if that is today. */
export function RecentTime({ at }: { at: number }) {
  const { now, timeZone } = usePage();
  const isToday = dateIn(timeZone, at) === dateIn(timeZone, now);
  return isToday ? <Time at={at} text={clockTime(at, timeZone).slice(0, 5)} /> : <ShortTime at={at} />;
}

/** The time of day with seconds: `16:54:12`. */
export const clockTime = (at: number, timeZone: string) =>
  new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', timeZone }).format(at);

export const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export function Ago({ at }: { at: number }) {
  const { now } = usePage();
  return <Time at={at} text={now - at < MINUTE_MS ? 'just now' : `${spanText(now - at)} ago`} />;
}

/** A span of time in words, rounded: `48 s`, `5 min`, `3 h`, `12 days`, `5 months`. */
export function spanText(ms: number): string {
  const days = Math.round(ms / DAY_MS);
  if (ms < MINUTE_MS) return `${Math.floor(ms / 1_000) + 1} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h`;
  return days < 60 ? counted(days, 'day') : `${Math.round(days / 30.44)} months`;
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
      {state === 'expiring' && <span class="minor"> (in {spanText(expiresAt - now)})</span>}
    </span>
  );
}

/** When a key expires or expired, in the few words of a list. */
export function ShortExpiry({ subject: { expiresAt, state } }: ExpiryProps) {
  const { now, timeZone } = usePage();
  if (state === 'revoked') return <span class="dash">–</span>;
  if (expiresAt === null) return <>Never</>;
  if (expiresAt <= now) return <Ago at={expiresAt} />;
  const text = state === 'expiring' ? `in ${spanText(expiresAt - now)}` : dateText(dateIn(timeZone, expiresAt - 1));
  return <Time at={expiresAt} text={text} />;
}
