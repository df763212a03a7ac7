import { dateIn } from '../../domain/calendar.ts';
import type { AdministratorScope } from '../../env.ts';
import type { Place } from './pages/components.tsx';

/** Where the page stands. */
export function placeOf(c: AdministratorScope): Place {
  const { id, timeZone } = c.get('administrator').organization;
  return { base: `/settings/${id}`, timeZone, now: c.get('now')() };
}

/** Today's date where the organization is. */
export function todayOf(c: AdministratorScope): string {
  return dateIn(c.get('administrator').organization.timeZone, c.get('now')());
}
