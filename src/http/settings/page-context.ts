import { dateIn } from '../../domain/calendar.ts';
import type { PushTrouble } from '../../domain/push-trouble.ts';
import { ticketUrl } from '../../domain/ticket-url.ts';
import type { AdminEnv, AppEnv, ContextOf } from '../context.ts';

/** What every page of an organization needs: base path of links, time zone, and current time. */
export interface PageContext {
  base: string;
  timeZone: string;
  now: number;
  /** The address of a ticket in the PSA, if the deployment knows it. */
  linkTo?: ((ticketId: string) => string) | undefined;
}

/** The page context of the current request. */
export function pageContext(c: ContextOf<AdminEnv>): PageContext {
  const { id, timeZone } = c.get('administrator').organization;
  const { ticketUrl: template } = c.get('config');
  const linkTo = template === undefined ? undefined : (ticketId: string) => ticketUrl(template, id, ticketId);
  return { base: `/settings/${id}`, timeZone, now: c.get('now')(), linkTo };
}

/**
 * What keeps the changes of the organization from its PSA. Undefined without a receiver: then an old
 * failure means nothing.
 */
export function pushTroubleOf(c: ContextOf<AppEnv>): PushTrouble | undefined {
  return c.get('config').push && c.get('administrator')?.pushTrouble;
}

/** Today's date in the organization's time zone. */
export function todayOf(c: ContextOf<AdminEnv>): string {
  return dateIn(c.get('administrator').organization.timeZone, c.get('now')());
}
