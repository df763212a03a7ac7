import * as z from 'zod';
import { ACTOR_TYPES } from '../../domain/audit-actions.ts';
import { fromKeys, keysOf } from '../../lib/objects.ts';
import { REASONS_FOR_ATTENTION } from '../../services/keys/attention.ts';
import { nullable, plainText, time } from '../psa/shapes.ts';
import {
  EXPIRY_NOTICE_DAYS,
  LIMIT_NOTICE_PERCENTAGES,
  messageType,
  type NoticeData,
  type NoticeKey,
  type NoticeType,
} from './notice.ts';
import { NOTICE_TYPES } from './notice-types.ts';

// The shapes of the messages with notices. Each has the type of what the service sends, so that the
// two cannot disagree.

const organization = z.string();
const key: z.ZodType<NoticeKey> = z
  .object({ id: z.string(), name: plainText, hint: z.string(), expiresAt: nullable(time()) })
  .meta({ id: 'NoticeKey', description: 'The key as it was when the notice was made.' });
const actor = z.object({ type: z.enum(ACTOR_TYPES), id: z.string(), name: plainText });
const successor = z.object({ id: z.string(), hint: z.string() });
const settingsUrl = nullable(z.url()).meta({
  description: 'The page of the settings area to look at; null if the operator has not set the address of the service.',
});

const DATA: { [Type in NoticeType]: z.ZodObject & z.ZodType<NoticeData[Type]> } = {
  key_created: z.object({ organization, key, actor }),
  key_rotated: z.object({ organization, key, actor, successor: nullable(successor) }),
  key_revoked: z.object({ organization, key, actor }),
  key_expiring: z.object({ organization, key, days: z.literal(EXPIRY_NOTICE_DAYS) }),
  key_unused: z.object({ organization, key, days: z.int(), lastWriteAt: nullable(time()) }),
  key_refused: z.object({
    organization,
    key,
    reason: z.enum(REASONS_FOR_ATTENTION),
    count: z.int(),
    firstAt: time(),
    lastAt: time(),
  }),
  daily_limit: z.object({
    organization,
    key: nullable(key),
    day: z.iso.date().meta({ description: "In the organization's time zone." }),
    percent: z.literal(LIMIT_NOTICE_PERCENTAGES),
    what: z.enum(['records', 'minutes', 'bytes']),
    used: z.int(),
    limit: z.int(),
  }),
  database_size: z.object({ organization: z.null(), percent: z.literal([70, 90]), bytes: z.int(), limit: z.int() }),
  push_failing: z.object({
    organization,
    since: time(),
    failure: nullable(z.string()),
    stopped: z.boolean().meta({ description: 'Whether the receiver answered 410.' }),
  }),
};

/** The message with a notice of each type. */
export const noticeMessages = fromKeys(keysOf(DATA), (type) =>
  z
    .object({
      type: z.literal(messageType(type)),
      timestamp: time().meta({ description: 'When it happened.' }),
      data: DATA[type].extend({ settingsUrl }),
    })
    .meta({ id: `Notice_${type}`, description: NOTICE_TYPES[type].meaning }),
);
