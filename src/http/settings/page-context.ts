import type { Child } from 'hono/jsx';
import type { Config } from '../../config.ts';
import { dateIn } from '../../domain/calendar.ts';
import { ticketUrl } from '../../domain/ticket-url.ts';
import type { AdminEnv, Administrator, AppEnv, ContextOf } from '../context.ts';

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
  return contextFor(c.get('administrator'), c.get('config'), c.get('now')());
}

/** The page context of an administrator. */
function contextFor({ organization }: Administrator, { ticketUrl: template }: Config, now: number): PageContext {
  const { id, timeZone } = organization;
  const linkTo = template === undefined ? undefined : (ticketId: string) => ticketUrl(template, id, ticketId);
  return { base: `/settings/${id}`, timeZone, now, linkTo };
}

/** The banners of modules for the administrator of the request. */
export function moduleBanners(c: ContextOf<AppEnv>): Child[] {
  const administrator = c.get('administrator');
  if (!administrator) return [];
  const context = contextFor(administrator, c.get('config'), c.get('now')());
  return c.get('parts').flatMap(({ banner }) => banner?.(administrator, context) ?? []);
}

/** Today's date in the organization's time zone. */
export function todayOf(c: ContextOf<AdminEnv>): string {
  return dateIn(c.get('administrator').organization.timeZone, c.get('now')());
}
