import { batch } from '../../db/statement.ts';
import { DAY_MS, dateIn } from '../../domain/calendar.ts';
import { hasCode } from '../../domain/errors.ts';
import { log } from '../../lib/log.ts';
import { callD1, readAll, readOne, write } from '../../services/call-d1.ts';
import type { ServiceContext } from '../../services/context.ts';
import { latestDatabaseSize } from '../../services/size-warning.ts';
import { sizeNotices } from './find-notices.ts';
import { EXPIRY_NOTICE_DAYS } from './notice.ts';
import { makeNoticesOf, type NoticeOptions, saveNotices } from './organization-notices.ts';
import {
  findNoticeFacts,
  findRound,
  forgetPositions,
  type NoticeFacts,
  type NoticeRound,
  saveRound,
} from './rounds.ts';

/** How many organizations one run looks at. Each costs a few rows. */
export const MAX_ORGANIZATIONS = 200;
/** For how many of them it reads more, because something has happened there. */
export const MAX_EXAMINED = 50;
/** How far the clocks of two machines may differ. */
const CLOCK_SKEW_MS = 60_000;
/** If the latest round began longer ago, notices were off since. */
const OFF_AFTER_MS = 7 * DAY_MS;

/**
 * Makes the notices of the next organizations of the round, and those of the deployment. What was
 * made before is not made again, so this is safe to repeat at any point.
 */
export async function makeNotices(ctx: ServiceContext, options: NoticeOptions): Promise<void> {
  const round = await currentRound(ctx);
  const since = round.since - CLOCK_SKEW_MS;
  const isNewDay = dateIn('UTC', round.since) !== dateIn('UTC', round.beganAt);
  const organizations = await readFacts(ctx, round.after, since);
  let examined = 0;
  let after = round.after;
  for (const facts of organizations) {
    if (examined === MAX_EXAMINED) break;
    if (await madeNoticesOf(ctx, facts, { ...options, since, isNewDay })) examined += 1;
    after = facts.organizationId;
  }
  await saveNotices(ctx, '', sizeNotices(latestDatabaseSize(ctx), ctx.databaseLimit ?? 0, ctx.now()), options.channels);
  const isLast = organizations.length < MAX_ORGANIZATIONS && after === (organizations.at(-1)?.organizationId ?? after);
  await write(ctx, 'safe_to_repeat', saveRound.bind({ ...round, after: isLast ? '' : after }));
}

/**
 * The round that goes on, or a new one if the last one has ended. The first one begins with the
 * present, and so does one after notices were off.
 */
async function currentRound(ctx: ServiceContext): Promise<NoticeRound> {
  const now = ctx.now();
  const stored = await readOne(ctx, findRound.bind({}));
  if (stored && now - stored.beganAt <= OFF_AFTER_MS)
    return stored.after === '' ? { after: '', beganAt: now, since: stored.beganAt } : stored;
  const first = { after: '', beganAt: now, since: now };
  await callD1(ctx, 'safe_to_repeat', (db) => batch(db, [forgetPositions.bind({}), saveRound.bind(first)]));
  return first;
}

async function readFacts(ctx: ServiceContext, after: string, since: number): Promise<NoticeFacts[]> {
  const days = JSON.stringify(EXPIRY_NOTICE_DAYS);
  const values = { after, limit: MAX_ORGANIZATIONS, since, now: ctx.now(), days };
  return readAll(ctx, findNoticeFacts.bind(values));
}

/** A failure is logged, so that one organization does not keep the others from their notices. */
async function madeNoticesOf(...[ctx, facts, options]: Parameters<typeof makeNoticesOf>): Promise<boolean> {
  try {
    return await makeNoticesOf(ctx, facts, options);
  } catch (err) {
    if (hasCode(err, 'unavailable')) throw err;
    log('error', 'notices_not_made', { organization: facts.organizationId, cause: err });
    return true;
  }
}
