import type { Context } from 'hono';
import { getContext } from 'hono/context-storage';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { dateIn } from '../../domain/calendar.ts';
import { ticketUrl } from '../../domain/ticket-url.ts';
import type { FactOptions } from '../../services/facts.ts';
import type { AdminEnv, AppEnv, ContextOf } from '../hono-env.ts';

/** The organization's pages: its name, the path of all its links, its time zone, and the current time. */
interface PageContext {
  organization: string;
  base: string;
  timeZone: string;
  /** The name of the PSA, or `your PSA`. */
  psa: string;
  now: number;
  /** The administrator, and the IP address of the browser if it is known. */
  userId: string;
  address: string | null;
  /** The address of a ticket in the PSA, if the deployment knows it. */
  linkTo?: ((ticketId: string) => string) | undefined;
}

/** The page that a component is rendered on. @throws Error if it is of no organization */
export function usePage(): PageContext {
  const page = pageContext(getContext<AppEnv>());
  if (!page) throw new Error('This component needs an organization.');
  return page;
}

export function pageContext(c: ContextOf<AdminEnv>): PageContext;
export function pageContext(c: ContextOf<AppEnv>): PageContext | undefined;
export function pageContext(c: ContextOf<AppEnv>): PageContext | undefined {
  const administrator = c.get('administrator');
  if (!administrator) return undefined;
  const { userId, organization } = administrator;
  const { id, name, timeZone, psaName } = organization;
  const { ticketUrl: template } = c.get('config');
  const linkTo = template === undefined ? undefined : (ticketId: string) => ticketUrl(template, id, ticketId);
  const { address } = c.get('source');
  const psa = psaName ?? 'your PSA';
  return { organization: name, base: `/settings/${id}`, timeZone, psa, now: c.get('now')(), userId, address, linkTo };
}

/** What decides about the facts that need attention. */
export function factOptions(c: ContextOf<AppEnv>): FactOptions {
  const { receiver, dayLimits, keepDays } = c.get('config');
  const ofModules = c.get('contributions').flatMap(({ facts = [] }) => facts);
  return { isPushed: receiver !== undefined, dayLimits, keepDays, ofModules };
}

/** Today's date in the organization's time zone. */
export function todayOf(c: ContextOf<AdminEnv>): string {
  return dateIn(c.get('administrator').organization.timeZone, c.get('now')());
}

/**
 * The cookie with the path of a page and what was just done. Its prefix keeps other hosts of the zone from setting it
 * (RFC 6265bis, section 4.1.3.2). The prefix needs HTTPS, which a local server does not have.
 */
function noticeCookie({ protocol }: URL) {
  const secure = protocol === 'https:';
  return [secure ? '__Host-notice' : 'notice', { path: '/', httpOnly: true, sameSite: 'Lax', secure }] as const;
}

const TONES = ['good', 'neutral', 'warning'] as const;

/**
 * Leads to a page of the organization, or of all organizations, which shows once what was done, or warns why nothing was.
 * Only this browser can claim the notice, no link.
 */
export function redirectWith<E extends AdminEnv | AppEnv>(
  c: Context<E>,
  path: string,
  notice: string,
  tone: (typeof TONES)[number] = 'good',
): Response {
  const to = `${pageContext(c)?.base ?? '/settings'}${path}`;
  const url = new URL(to, c.req.url);
  const [name, options] = noticeCookie(url);
  setCookie(c, name, `${url.pathname} ${tone} ${notice}`, { ...options, maxAge: 60 });
  return c.redirect(to, 303);
}

/** What was just done or was not, if this page is to show it. */
export function takeNotice(c: Context) {
  const url = new URL(c.req.url);
  const [name, options] = noticeCookie(url);
  const [, path, tone, text] = /^(\S+) (good|neutral|warning) (.*)$/s.exec(getCookie(c, name) ?? '') ?? [];
  if (path !== url.pathname) return undefined;
  deleteCookie(c, name, options);
  return { tone: TONES.find((one) => one === tone) ?? TONES[0], text };
}

/** The parameters of a query that are given. */
export const parametersOf = (query: object): [name: string, value: string][] =>
  Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));

/** The address of a page with a query. */
export function addressOf(path: string, query: object): string {
  const given = parametersOf(query);
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path;
}
