import type { RecentRefusedUseRow } from '../../db/keys/refused-uses.ts';
import { DAY_MS } from '../../domain/calendar.ts';
import { instant, optionalInstant, plain } from '../../domain/change.ts';
import { fullnessAt, WARNED_FROM } from '../../domain/database-limit.ts';
import { type DayLimits, fullestDayLimit, NO_OWN_DAY_LIMIT } from '../../domain/day-limit.ts';
import { needsAttention, REFUSED_ATTENTION_MS } from '../../services/keys/attention.ts';
import type { KeyDetails } from '../../services/keys/read-keys.ts';
import { expiresWithin, isUnused } from '../../services/keys/select-keys.ts';
import type { KeyActionRow } from './key-actions.ts';
import type { KeyDayUseRow } from './key-statements.ts';
import { EXPIRY_NOTICE_DAYS, LIMIT_NOTICE_PERCENTAGES, type NewNotice, type NoticeKey } from './notice.ts';

// Which notices there are to make, without I/O. They follow the same rules as the "Needs attention"
// of the settings area.

/** For how long after a key became unused that is still news. */
const UNUSED_NEWS_MS = 7 * DAY_MS;

/** A notice of this kind can be made once: its topic never comes back. */
const ONCE = { level: 0, quietSince: 0 };

const keyOf = (key: { id: string; name: string; hint: string; expiresAt: number | null }): NoticeKey => ({
  id: key.id,
  name: plain(key.name),
  hint: key.hint,
  expiresAt: optionalInstant(key.expiresAt),
});

const ACTIONS = {
  'api_key.created': 'key_created',
  'api_key.rotated': 'key_rotated',
  'api_key.revoked': 'key_revoked',
} as const;

const isNoticed = (action: string): action is keyof typeof ACTIONS => action in ACTIONS;

/** What was done to keys. A rotation is one notice, although it creates a key and may revoke one. */
export function actionNotices(organization: string, rows: readonly KeyActionRow[]): NewNotice[] {
  return rows.flatMap((row): NewNotice[] => {
    const { action, keyId, successorId, successorHint } = row;
    if (!isNoticed(action) || keyId === null || row.isOfRotation === 1) return [];
    const key = keyOf({ id: keyId, name: row.keyName, hint: row.keyHint, expiresAt: row.keyExpiresAt });
    const actor = { type: row.actorType, id: row.actorId, name: plain(row.actorName) };
    const successor = successorId === null || successorHint === null ? null : { id: successorId, hint: successorHint };
    const base = { subject: keyId, topic: `${row.seq}:${row.requestId}`, at: row.at, ...ONCE };
    const type = ACTIONS[action];
    return type === 'key_rotated'
      ? [{ ...base, type, data: { organization, key, actor, successor } }]
      : [{ ...base, type, data: { organization, key, actor } }];
  });
}

/** Keys that expire within so many days, each with the lowest number of days that it has reached. */
export function expiryNotices(organization: string, keys: readonly KeyDetails[], now: number): NewNotice[] {
  return keys.flatMap((key) => {
    const days = EXPIRY_NOTICE_DAYS.findLast((each) => expiresWithin(key, each, now));
    if (days === undefined || key.expiresAt === null || key.successor) return [];
    return [
      {
        type: 'key_expiring',
        subject: key.id,
        topic: '',
        level: -days,
        quietSince: 0,
        at: key.expiresAt - days * DAY_MS,
        data: { organization, key: keyOf(key), days },
      },
    ];
  });
}

/** Keys that have become unused lately. */
export function unusedNotices(
  organization: string,
  live: readonly KeyDetails[],
  unusedDays: number,
  now: number,
): NewNotice[] {
  return live
    .filter((key) => isUnused(key, unusedDays, now) && !isUnused(key, unusedDays, now - UNUSED_NEWS_MS))
    .filter(({ successor }) => successor === null)
    .map((key) => {
      const since = key.lastWrite?.at ?? key.createdAt;
      return {
        type: 'key_unused',
        subject: key.id,
        topic: String(since),
        ...ONCE,
        at: since + unusedDays * DAY_MS,
        data: {
          organization,
          key: keyOf(key),
          days: unusedDays,
          lastWriteAt: optionalInstant(key.lastWrite?.at ?? null),
        },
      };
    });
}

/** Refused uses: one notice for each key and reason, and another one if it still goes on a week later. */
export function refusalNotices(organization: string, uses: readonly RecentRefusedUseRow[], now: number): NewNotice[] {
  return uses
    .filter(({ reason }) => needsAttention(reason))
    .map((use) => ({
      type: 'key_refused',
      subject: use.keyId,
      topic: use.reason,
      level: 0,
      quietSince: now - REFUSED_ATTENTION_MS,
      at: use.lastAt,
      data: {
        organization,
        key: keyOf({ id: use.keyId, name: use.keyName, hint: use.keyHint, expiresAt: use.keyExpiresAt }),
        reason: use.reason,
        count: use.count,
        firstAt: instant(use.firstAt),
        lastAt: instant(use.lastAt),
      },
    }));
}

interface OrganizationDay {
  day: string;
  records: number;
  bytes: number;
}

/** Daily limits of which 80 % or 100 % are used: that of the organization, and those of its keys. */
export function limitNotices(
  organization: string,
  { day, ...total }: OrganizationDay,
  keys: readonly KeyDayUseRow[],
  limits: DayLimits,
  now: number,
): NewNotice[] {
  const nothing = { records: 0, minutes: 0, bytes: 0 };
  const uses = [
    {
      key: null,
      fullest: fullestDayLimit('organization-day', limits, NO_OWN_DAY_LIMIT, { key: nothing, organization: total }),
    },
    ...keys.map((row) => {
      const own = { records: row.dayLimitRecords, minutes: row.dayLimitMinutes };
      return { key: keyOf(row), fullest: fullestDayLimit('key-day', limits, own, { key: row, organization: total }) };
    }),
  ];
  return uses.flatMap(({ key, fullest }) => {
    if (!fullest) return [];
    const { what, used, limit } = fullest;
    const percent = LIMIT_NOTICE_PERCENTAGES.findLast((each) => used * 100 >= limit * each);
    if (percent === undefined) return [];
    const data = { organization, key, day, percent, what, used, limit };
    return [{ type: 'daily_limit', subject: key?.id ?? '', topic: day, level: percent, quietSince: 0, at: now, data }];
  });
}

/** A push that has been failing for some time, or is stopped. */
export function pushNotices(
  organization: string,
  trouble: { failingSince: number | null; failure: string | null; stoppedAt: number | null } | undefined,
): NewNotice[] {
  const since = trouble?.failingSince ?? trouble?.stoppedAt;
  if (!trouble || typeof since !== 'number') return [];
  const { failure, stoppedAt } = trouble;
  const data = { organization, since: instant(since), failure, stopped: stoppedAt !== null };
  return [{ type: 'push_failing', subject: `push ${since}`, topic: '', ...ONCE, at: since, data }];
}

/** A database that is nearly or almost full. */
export function sizeNotices(
  size: { bytes: number; share: number } | undefined,
  limit: number,
  now: number,
): NewNotice[] {
  const fullness = fullnessAt(size?.share ?? 0);
  if (!size || fullness === 'normal') return [];
  const percent = Math.round(WARNED_FROM[fullness] * 100);
  const data = { organization: null, percent, bytes: size.bytes, limit };
  return [{ type: 'database_size', subject: '', topic: '', level: percent, quietSince: 0, at: now, data }];
}
