import { fact, factSource, IN_RANGE } from '../../db/fact-statements.ts';
import { minutesBefore } from '../../db/work/key-days.ts';
import { dateText } from '../../domain/calendar.ts';
import type { Fact } from '../../domain/facts.ts';
import { isLongDay, LONG_DAY, minutesOf, usualMinutes } from '../../domain/unusual.ts';
import { formatNumber } from '../../http/settings/pages/components.tsx';

/** How long a long day needs attention, unless its time is decided before, and how many of an organization are compared. */
const SHOWN_DAYS = 7;
const EXAMINED = 20;

const dayOf = ({ subject }: Fact) => subject.slice(-10);
const longDayText = (found: Fact) =>
  `${formatNumber(found.count)} minutes on ${dateText(dayOf(found))}, usually ${formatNumber(Number(found.detail))}`;

/** The fact that a key logged unusually much time on a day. An index of the ledger has the long days. */
export const LONG_DAYS = factSource(
  {
    unusual_time: {
      isUrgent: false,
      sentence: (found) => `API key ${found.keyHint} logged ${longDayText(found)}.`,
      advice: 'Check the time entries of that day. Correct wrong ones in your PSA, or reject them under Time.',
      tile: {
        icon: 'clock',
        tone: 'warning',
        title: (facts) =>
          facts.length === 1 && facts[0]
            ? `1 key logged ${longDayText(facts[0])}`
            : `${facts.length} days with unusually much time`,
        path: (facts) => {
          const [first] = facts;
          if (facts.length > 1 || !first) return '/time?unusual=yes';
          return `/time?key=${first.keyId}&from=${dayOf(first)}&to=${dayOf(first)}`;
        },
      },
      // `detail` has the minutes of the days before.
      evaluate: (row) => {
        const before = minutesOf(row.detail ?? '');
        return isLongDay(row.count, before) ? { ...row, detail: String(usualMinutes(before)) } : undefined;
      },
    },
  },
  `
    select ${fact("'unusual_time'", {
      organizationId: 'w.organizationId',
      subject: "w.id || ' ' || w.day",
      keyId: 'w.id',
      keyName: 'w.name',
      keyHint: 'w.hint',
      keyExpiresAt: 'w.expires_at',
      since: 'unixepoch(w.day) * 1000',
      count: 'w.minutes',
      detail: minutesBefore('w.organizationId', 'w.chain_id', 'w.day'),
    })}
    from (
      select o.id as organizationId, k.id, k.name, k.hint, k.expires_at, k.chain_id, d.day, d.minutes,
        row_number() over (partition by o.id order by d.minutes desc) as place
      from organizations o cross join key_days d indexed by key_days_long on d.organization_id = o.id
        and d.day > date(:now / 1000, 'unixepoch', '-${SHOWN_DAYS} days') and d.minutes >= ${LONG_DAY.minutes}
      cross join api_keys k on k.organization_id = o.id and k.id = d.key_id
      where ${IN_RANGE} and d.last_seq > coalesce((
        select m.seq from approval_marks m where m.organization_id = o.id), 0)) w
    where w.place <= ${EXAMINED} limit :limit`,
);
