import { dateIn } from '../../domain/calendar.ts';
import type { AdminEnv, ContextOf } from '../context.ts';

/** What every page of an organization needs: base path of links, time zone, and current time. */
export interface PageContext {
  base: string;
  timeZone: string;
  now: number;
}

/** The page context of the current request. */
export function pageContext(c: ContextOf<AdminEnv>): PageContext {
  const { id, timeZone } = c.get('administrator').organization;
  return { base: `/settings/${id}`, timeZone, now: c.get('now')() };
}

/** Today's date in the organization's time zone. */
export function todayOf(c: ContextOf<AdminEnv>): string {
  return dateIn(c.get('administrator').organization.timeZone, c.get('now')());
}
