import type { PropsWithChildren } from 'hono/jsx';
import type { KeyState } from '../../../domain/api-key.ts';
import { DAY_MS, dateIn, endOfDate } from '../../../domain/calendar.ts';
import { type Scope, scopeLabels } from '../../../domain/scopes.ts';
import type { KeyLink } from '../../../services/keys/read-keys.ts';
import type { PageContext } from '../page-context.ts';

/** A time in the organization's time zone, with UTC on hover. */
export function Time({ at, context, text }: { at: number; context: PageContext; text?: string }) {
  const iso = new Date(at).toISOString();
  return (
    <time datetime={iso} title={`${iso.slice(0, 19).replace('T', ' ')} UTC`}>
      {text ??
        new Intl.DateTimeFormat('en-GB', {
          dateStyle: 'medium',
          timeStyle: 'short',
          timeZone: context.timeZone,
        }).format(at)}
    </time>
  );
}

/** When a key expires, usually at the end of a day. If that is soon, also in how many days. */
export function Expiry({
  of: { expiresAt, state },
  context,
}: {
  of: { expiresAt: number | null; state?: KeyState };
  context: PageContext;
}) {
  if (expiresAt === null) return <>Never</>;
  const lastDay = lastFullDay(expiresAt, context.timeZone);
  const days = Math.floor((expiresAt - context.now) / DAY_MS);
  return (
    <>
      {lastDay === undefined ? (
        <Time at={expiresAt} context={context} />
      ) : (
        <span>
          end of <Time at={expiresAt} context={context} text={lastDay} />
        </span>
      )}
      {state === 'expiring' && (
        <span class="minor"> ({days === 0 ? 'within a day' : days === 1 ? 'in 1 day' : `in ${days} days`})</span>
      )}
    </>
  );
}

/** The formatted date of the day that ends exactly at `at`; undefined if no day ends then. */
function lastFullDay(at: number, timeZone: string): string | undefined {
  const date = dateIn(timeZone, at - 1);
  return endOfDate(date, timeZone) === at
    ? new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone }).format(at - 1)
    : undefined;
}

const STATES: Record<KeyState, string> = {
  active: 'Active',
  expiring: 'Expiring',
  expired: 'Expired',
  revoked: 'Revoked',
};

/** A key's state as a coloured label. */
export function State({ state }: { state: KeyState }) {
  return <span class={`state ${state}`}>{STATES[state]}</span>;
}

/** The label of a state, for CSV downloads. */
export const stateLabel = (state: KeyState) => STATES[state];

/** Scopes by their labels, separated by commas. */
export const scopeList = (scopes: readonly Scope[]) => scopeLabels(scopes).join(', ');

/** A number with separators, such as `20,000`. */
export const formatNumber = (number: number) =>
  new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 }).format(number);

/** A number with its unit: `1 record`, `2 records`. */
export const counted = (number: number, unit: string) => `${formatNumber(number)} ${unit}${number === 1 ? '' : 's'}`;

/** A key's hint: the part of its value that identifies it. */
export function Hint({ hint }: { hint: string }) {
  return <code class="hint">{hint}</code>;
}

/**
 * A link to the other key of a rotation. It shows the hint because both keys have the same name.
 */
export function OtherKey({ link, context }: { link: KeyLink; context: PageContext }) {
  return (
    <a href={`${context.base}/keys/${link.id}`}>
      <Hint hint={link.hint} />
    </a>
  );
}

/** A result or a warning at the top of a page. Screen readers announce it when the page opens. */
export function Notice({ tone = 'good', children }: PropsWithChildren<{ tone?: 'good' | 'warning' }>) {
  return (
    <div class={`notice ${tone}`} role={tone === 'good' ? 'status' : 'alert'}>
      {children}
    </div>
  );
}

/** A button that opens another page. */
export function LinkButton({ to, children, kind }: PropsWithChildren<{ to: string; kind?: 'danger' | 'quiet' }>) {
  return (
    <form method="get" action={to}>
      <button type="submit" class={kind}>
        {children}
      </button>
    </form>
  );
}

/** The error message of a field, which refers to it in `aria-describedby`. */
export function FieldMessage({ id, message }: { id: string; message: string | undefined }) {
  return message === undefined ? null : (
    <p class="error" id={`${id}-error`}>
      {message}
    </p>
  );
}

/** The attributes that connect a field with its error message and help text. */
export function describedBy(id: string, message: string | undefined, hasHelp = false) {
  const ids = [...(hasHelp ? [`${id}-help`] : []), ...(message === undefined ? [] : [`${id}-error`])];
  return {
    ...(ids.length > 0 ? { 'aria-describedby': ids.join(' ') } : {}),
    ...(message === undefined ? {} : { 'aria-invalid': 'true' as const }),
  };
}

/** A table. On a narrow screen each row is a card, and `data-label` gives each cell its heading. */
export function Table({
  caption,
  headings,
  children,
}: PropsWithChildren<{ caption: string; headings: readonly string[] }>) {
  return (
    <table>
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {headings.map((heading) => (
            <th scope="col">{heading}</th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}
