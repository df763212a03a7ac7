import type { ActorType } from '../../domain/audit-actions.ts';
import type { PlainText } from '../../domain/change.ts';
import type { ExceededDayLimit } from '../../domain/day-limit.ts';
import type { RefusedUseReason } from '../../domain/refused-use.ts';
import { sha256, toHex } from '../../lib/bytes.ts';

// Notices: what the people who look after the keys and the deployment should know in time.

/** Where notices are sent: as typed messages to the receiver of the push, as texts to a chat. */
export const NOTICE_CHANNELS = ['push', 'chat'] as const;
export type NoticeChannel = (typeof NOTICE_CHANNELS)[number];

/** How many days before its expiry a key gives a notice, the first of them first. */
export const EXPIRY_NOTICE_DAYS = [14, 3, 1] as const;
/** The used percentages of a daily limit that give a notice. */
export const LIMIT_NOTICE_PERCENTAGES = [80, 100] as const;

/** A key as notices show it. */
export interface NoticeKey {
  id: string;
  name: PlainText;
  hint: string;
  /** ISO 8601, UTC. */
  expiresAt: string | null;
}

interface OfOrganization {
  organization: string;
}

interface OfKey extends OfOrganization {
  key: NoticeKey;
}

interface OfAction extends OfKey {
  actor: { type: ActorType; id: string; name: PlainText };
}

/** The data of each type of notice. Times are ISO 8601, UTC. */
export interface NoticeData {
  key_created: OfAction;
  key_rotated: OfAction & { successor: { id: string; hint: string } | null };
  key_revoked: OfAction;
  key_expiring: OfKey & { days: number };
  key_unused: OfKey & { days: number; lastWriteAt: string | null };
  key_refused: OfKey & { reason: RefusedUseReason; count: number; firstAt: string; lastAt: string };
  daily_limit: OfOrganization & {
    /** Null: the limit of the organization. */
    key: NoticeKey | null;
    /** Calendar date in the organization's time zone, `YYYY-MM-DD`. */
    day: string;
    percent: number;
    what: ExceededDayLimit['what'];
    used: number;
    limit: number;
  };
  database_size: { organization: null; percent: number; bytes: number; limit: number };
  push_failing: OfOrganization & { since: string; failure: string | null; stopped: boolean };
}

export type NoticeType = keyof NoticeData;

/** A notice of one of the types. */
export type Notice = { [Type in NoticeType]: { type: Type; data: NoticeData[Type] } }[NoticeType];

/** A notice that is to be made, unless there is one of the same topic that is as urgent. */
export type NewNotice = Notice & {
  /** What it is about, such as the id of a key. Notices with the same subject are sent in order. */
  subject: string;
  /** What tells notices of one type about one subject apart, such as a day. */
  topic: string;
  level: number;
  /** When it happened, in UTC milliseconds. */
  at: number;
  /** Earlier notices of the same topic do not count (UTC milliseconds). */
  quietSince: number;
};

/** The `webhook-id` of a notice, derived from what happened. */
export async function noticeId({ type, data, subject, topic, level, at }: NewNotice): Promise<string> {
  const digest = await sha256(JSON.stringify([data.organization, type, subject, topic, level, at]));
  return `notice_${toHex(digest.slice(0, 16))}`;
}

/** The `type` of the message with a notice. */
export const messageType = <Type extends NoticeType>(type: Type) => `notice.${type}` as const;

/** The page of the settings area to look at. `serviceUrl` is the origin of this service. */
export function settingsUrl({ data }: Notice, serviceUrl: string): string {
  if (data.organization === null) return `${serviceUrl}/settings`;
  const keys = `${serviceUrl}/settings/${data.organization}/keys`;
  return 'key' in data && data.key ? `${keys}/${data.key.id}` : keys;
}

const MINUTE_MS = 60_000;
const FIRST_PAUSE_MINUTES = 5;
const MAX_PAUSE_MINUTES = 60;

/**
 * The pause after so many attempts: 5 minutes, then twice as long each time, at most an hour. One
 * minute less, so that the run that is due then does not come too early.
 */
export function noticePauseMs(attempts: number): number {
  return (Math.min(FIRST_PAUSE_MINUTES * 2 ** (attempts - 1), MAX_PAUSE_MINUTES) - 1) * MINUTE_MS;
}
