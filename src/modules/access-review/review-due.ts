import { fact, factSource, IN_RANGE } from '../../db/fact-statements.ts';
import { DAY_MS, dateIn, daysBetween, monthsLater } from '../../domain/calendar.ts';

/** How many days before its date an access review needs attention. */
const REVIEW_DUE_DAYS = 14;

/** Until when the next review has to be finished: a date in the time zone; null if none is required. */
export function nextReview(months: number | null, since: number | null, timeZone: string, now: number) {
  if (months === null || since === null) return null;
  const date = monthsLater(dateIn(timeZone, since), months);
  return { date, daysLeft: daysBetween(dateIn(timeZone, now), date) };
}

export const inDays = (days: number) => (days === 0 ? 'today' : `in ${days} ${days === 1 ? 'day' : 'days'}`);

/** The fact that an access review is due soon, or overdue. */
export const REVIEW_DUE = factSource(
  {
    access_review_due: {
      isUrgent: false,
      sentence: ({ level, detail }) => `An access review ${level === 1 ? 'is' : 'was'} due on ${detail}.`,
      advice: 'Decide for each key whether it is still needed.',
      tile: {
        icon: 'check',
        tone: 'warning',
        title: ([first]) => {
          const daysLeft = first?.count ?? 0;
          return `An access review is ${daysLeft < 0 ? 'overdue' : `due ${inDays(daysLeft)}`}`;
        },
        path: () => '/access-review',
      },
      // `count` are the months between reviews, `detail` is the time zone.
      evaluate: (row, now) => {
        const due = nextReview(row.count, row.since, row.detail ?? 'UTC', now);
        if (due === null || due.daysLeft > REVIEW_DUE_DAYS) return undefined;
        return { ...row, since: now, level: due.daysLeft < 0 ? 2 : 1, count: due.daysLeft, detail: due.date };
      },
    },
  },
  // The time zone decides about the date: see `evaluate`. A month has at least 28 days.
  `
    select ${fact("'access_review_due'", {
      organizationId: 'r.id',
      since: 'r.since',
      count: 'r.access_review_months',
      detail: 'r.time_zone',
    })}
    from (
      select o.id, o.time_zone, k.access_review_months, coalesce((select e.finished_at from access_reviews e
        where e.organization_id = o.id and e.finished_at is not null order by e.id desc limit 1), k.access_reviews_since) as since
      from organizations o cross join key_rules k on k.organization_id = o.id
      where ${IN_RANGE} and k.access_review_months is not null) r
    where r.since + (r.access_review_months * 28 - ${REVIEW_DUE_DAYS + 2}) * ${DAY_MS} <= :now
    limit :limit`,
);
