import { dateIn } from '../../domain/calendar.ts';
import type { AdminEnv, ContextOf } from '../context.ts';

/** What every page of an organization needs: the address of its pages, and the zone and moment in which it tells times. */
export interface PageContext {
  base: string;
  timeZone: string;
  now: number;
}

/** The context of the page that is requested. */
export function pageContext(c: ContextOf<AdminEnv>): PageContext {
  const { id, timeZone } = c.get('administrator').organization;
  return { base: `/settings/${id}`, timeZone, now: c.get('now')() };
}

/** Today's date in the organization's time zone. */
export function todayOf(c: ContextOf<AdminEnv>): string {
  return dateIn(c.get('administrator').organization.timeZone, c.get('now')());
}
