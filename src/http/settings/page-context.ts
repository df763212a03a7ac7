import { createContext, useContext } from 'hono/jsx';
import type { AuditAction } from '../../domain/audit-actions.ts';
import { dateIn } from '../../domain/calendar.ts';
import { ticketUrl } from '../../domain/ticket-url.ts';
import { readJustDone } from '../../services/audit/read-audit-log.ts';
import type { FactOptions } from '../../services/bind-facts.ts';
import { type AdminEnv, type AppEnv, adminContext, type ContextOf } from '../hono-env.ts';

/** The organization's pages: its name, the path of all its links, its time zone, and the current time. */
interface PageContext {
  organization: string;
  base: string;
  timeZone: string;
  now: number;
  /** The administrator, and the address of the browser if it is known. */
  userId: string;
  address: string | null;
  /** The address of a ticket in the PSA, if the deployment knows it. */
  linkTo?: ((ticketId: string) => string) | undefined;
}

const Page = createContext<PageContext | undefined>(undefined);
export const PageProvider = Page.Provider;

export function usePage(): PageContext {
  const page = useContext(Page);
  if (!page) throw new Error('This component needs an organization.');
  return page;
}

export function pageContext(c: ContextOf<AdminEnv>): PageContext;
export function pageContext(c: ContextOf<AppEnv>): PageContext | undefined;
export function pageContext(c: ContextOf<AppEnv>): PageContext | undefined {
  const administrator = c.get('administrator');
  if (!administrator) return undefined;
  const { userId, organization } = administrator;
  const { id, name, timeZone } = organization;
  const { ticketUrl: template } = c.get('config');
  const linkTo = template === undefined ? undefined : (ticketId: string) => ticketUrl(template, id, ticketId);
  const { address } = c.get('source');
  return { organization: name, base: `/settings/${id}`, timeZone, now: c.get('now')(), userId, address, linkTo };
}

/** What decides about the facts that need attention. */
export function factOptions(c: ContextOf<AppEnv>): FactOptions {
  const { receiver, dayLimits } = c.get('config');
  const ofModules = c.get('contributions').flatMap(({ facts = [] }) => facts);
  return { isPushed: receiver !== undefined, dayLimits, ofModules };
}

/** Today's date in the organization's time zone. */
export function todayOf(c: ContextOf<AdminEnv>): string {
  return dateIn(c.get('administrator').organization.timeZone, c.get('now')());
}

/**
 * The word in `?done=…`, which selects a notice. If the word claims an action, only if this administrator has just done
 * it to one of the targets: the address may be opened again later, or come from elsewhere.
 */
export async function readDone(
  c: ContextOf<AdminEnv>,
  actions: Readonly<Record<string, AuditAction>>,
  ...targetIds: readonly string[]
): Promise<string | undefined> {
  const done = c.req.query('done');
  const action = Object.entries(actions).find(([word]) => word === done)?.[1];
  if (!action) return done;
  const entries = await readJustDone(adminContext(c));
  return entries.some((entry) => entry.action === action && targetIds.includes(entry.targetId)) ? done : undefined;
}
