import type { PropsWithChildren } from 'hono/jsx';
import type { KeyState } from '../../../domain/api-key.ts';
import { DAY_MS, dateIn, endOfDate } from '../../../domain/calendar.ts';
import { type Scope, scopeLabels } from '../../../domain/scopes.ts';
import type { KeyLink } from '../../../services/keys/read-keys.ts';
import type { PageContext } from '../page-context.ts';

/** A moment in the organization's time zone, with UTC on hover. */
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

/** When a key expires: mostly at the end of a day. Of a key that is about to, also how soon. */
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
        <>
          end of <Time at={expiresAt} context={context} text={lastDay} />
        </>
      )}
      {state === 'expiring' && (
        <span class="minor"> ({days === 0 ? 'within a day' : days === 1 ? 'in 1 day' : `in ${days} days`})</span>
      )}
    </>
  );
}

/** The day that ends at an instant, in words, if it is the very end of one. */
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

/** The state of a key as a word, coloured. */
export function State({ state }: { state: KeyState }) {
  return <span class={`state ${state}`}>{STATES[state]}</span>;
}

/** The name of a state, for lists that are not pages. */
export const stateLabel = (state: KeyState) => STATES[state];

/** Scopes by their labels, separated by commas. */
export const scopeList = (scopes: readonly Scope[]) => scopeLabels(scopes).join(', ');

/** What a key is recognised by. */
export function Hint({ hint }: { hint: string }) {
  return <code class="hint">{hint}</code>;
}

/** The other key of a rotation, told apart by its hint. */
export function OtherKey({ link, context }: { link: KeyLink; context: PageContext }) {
  return (
    <a href={`${context.base}/keys/${link.id}`}>
      <Hint hint={link.hint} />
    </a>
  );
}

/** Something that was done, or that somebody should look at; it is read out when the page opens. */
export function Notice({ tone = 'good', children }: PropsWithChildren<{ tone?: 'good' | 'warning' }>) {
  return (
    <div class={`notice ${tone}`} role={tone === 'good' ? 'status' : 'alert'}>
      {children}
    </div>
  );
}

/** A button that leads to another page. */
export function LinkButton({ to, children, kind }: PropsWithChildren<{ to: string; kind?: 'danger' | 'quiet' }>) {
  return (
    <form method="get" action={to}>
      <button type="submit" class={kind}>
        {children}
      </button>
    </form>
  );
}

/** What is wrong with a field; the field names it in `aria-describedby`. */
export function FieldMessage({ id, message }: { id: string; message: string | undefined }) {
  return message === undefined ? null : (
    <p class="error" id={`${id}-error`}>
      {message}
    </p>
  );
}

/** The attributes of a field that tell of its message and its explanation. */
export function describedBy(id: string, message: string | undefined, explained = false) {
  const ids = [...(explained ? [`${id}-help`] : []), ...(message === undefined ? [] : [`${id}-error`])];
  return {
    ...(ids.length > 0 ? { 'aria-describedby': ids.join(' ') } : {}),
    ...(message === undefined ? {} : { 'aria-invalid': 'true' as const }),
  };
}

/** A table on a wide screen, a list of cards on a phone: `data-label` repeats the heading there. */
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
