import { findFirstSeqSince } from '../../db/audit/read-audit-log.ts';
import { findKeyRules } from '../../db/keys/key-rules-statements.ts';
import { findLiveKeys } from '../../db/keys/read-keys.ts';
import { findRecentRefusedUses } from '../../db/keys/refused-uses.ts';
import { type BoundStatement, batch } from '../../db/statement.ts';
import { dateIn } from '../../domain/calendar.ts';
import type { DayLimits } from '../../domain/day-limit.ts';
import { troubleOf } from '../../domain/push-trouble.ts';
import { callD1, readAll, readBatch, readOne } from '../../services/call-d1.ts';
import type { ServiceContext } from '../../services/context.ts';
import { EXAMINED_REFUSED_USES } from '../../services/keys/attention.ts';
import { requireKeyRules } from '../../services/keys/change-key-rules.ts';
import { toKeyDetails } from '../../services/keys/read-keys.ts';
import { insertNotices } from './alert-statements.ts';
import {
  actionNotices,
  expiryNotices,
  limitNotices,
  pushNotices,
  refusalNotices,
  unusedNotices,
} from './find-notices.ts';
import { findKeyActions } from './key-actions.ts';
import { findKeyDayUses, findKeysNearExpiry } from './key-statements.ts';
import { EXPIRY_NOTICE_DAYS, type NewNotice, type NoticeChannel, noticeId } from './notice.ts';
import { type NoticeFacts, savePosition } from './rounds.ts';

/** How many audit rows are read at a time; the others follow with the next round. */
export const MAX_ACTIONS = 200;

/** Which notices are made, and for which channels. */
export interface NoticeOptions {
  channels: readonly NoticeChannel[];
  dayLimits: DayLimits;
  /** Whether changes are pushed. */
  isPushOn: boolean;
}

interface OrganizationOptions extends NoticeOptions {
  /** Every organization was examined since (UTC milliseconds). */
  since: number;
  /** Whether this is the first round of a day: then all live keys are read. */
  isNewDay: boolean;
}

/**
 * Makes the notices of one organization. Returns whether it read more than the facts, which say
 * whether something has happened.
 */
export async function makeNoticesOf(
  ctx: ServiceContext,
  facts: NoticeFacts,
  { channels, dayLimits, isPushOn, since, isNewDay }: OrganizationOptions,
): Promise<boolean> {
  const { organizationId, position, latestActionSeq } = facts;
  const reads: (() => Promise<NewNotice[]>)[] = [];
  if (facts.isExpiring === 1) reads.push(() => readExpiring(ctx, organizationId, since));
  if (facts.lastRefusedAt !== null && facts.lastRefusedAt >= since)
    reads.push(() => readRefusals(ctx, organizationId, since));
  if (facts.latestAt !== null && facts.latestAt >= since) reads.push(() => readLimits(ctx, facts, dayLimits));
  if (isNewDay) reads.push(() => readUnused(ctx, organizationId));
  const hasActions = latestActionSeq !== null && latestActionSeq > (position ?? 0);
  const actions = hasActions ? await readActions(ctx, organizationId, position, since) : undefined;

  const found = [
    ...(actions?.found ?? []),
    ...(isPushOn ? pushNotices(organizationId, troubleOf(facts, ctx.now())) : []),
  ];
  for (const read of reads) found.push(...(await read()));
  await saveNotices(ctx, organizationId, found, channels, actions?.position);
  return reads.length > 0 || hasActions;
}

/**
 * Stores notices of one organization (empty: of the deployment) that were not made before, and up to
 * which audit row they were made.
 */
export async function saveNotices(
  ctx: ServiceContext,
  organizationId: string,
  found: readonly NewNotice[],
  channels: readonly NoticeChannel[],
  position?: number,
): Promise<void> {
  const statements: BoundStatement<never>[] = [];
  if (found.length > 0) {
    const inOrder = found.toSorted((a, b) => a.at - b.at);
    const rows = await Promise.all(inOrder.map(async (notice) => ({ ...notice, id: await noticeId(notice) })));
    const values = { organizationId, notices: JSON.stringify(rows), channels: JSON.stringify(channels) };
    statements.push(insertNotices.bind({ ...values, now: ctx.now() }));
  }
  if (position !== undefined) statements.push(savePosition.bind({ organizationId, seq: position }));
  if (statements.length > 0) await callD1(ctx, 'safe_to_repeat', (db) => batch(db, statements));
}

/**
 * What was done to keys, and up to which audit row. The notices of a new organization begin at
 * `since`.
 */
async function readActions(ctx: ServiceContext, organizationId: string, position: number | null, since: number) {
  const begin = position ?? (await firstPosition(ctx, organizationId, since));
  const values = { organizationId, seq: begin, limit: MAX_ACTIONS };
  const results = await readAll(ctx, findKeyActions.bind(values));
  return { found: actionNotices(organizationId, results), position: results.at(-1)?.seq ?? begin };
}

async function firstPosition(ctx: ServiceContext, organizationId: string, since: number): Promise<number> {
  const first = await readOne(ctx, findFirstSeqSince.bind({ organizationId, at: since }));
  if (!first) throw new Error('the search for an audit row returned no row');
  return first.seq - 1;
}

async function readExpiring(ctx: ServiceContext, organizationId: string, since: number): Promise<NewNotice[]> {
  const now = ctx.now();
  const values = { organizationId, since, now, days: JSON.stringify(EXPIRY_NOTICE_DAYS) };
  const results = await readAll(ctx, findKeysNearExpiry.bind(values));
  return expiryNotices(
    organizationId,
    results.map((row) => toKeyDetails(row, now)),
    now,
  );
}

async function readRefusals(ctx: ServiceContext, organizationId: string, since: number): Promise<NewNotice[]> {
  const values = { organizationId, since, examine: EXAMINED_REFUSED_USES };
  const results = await readAll(ctx, findRecentRefusedUses.bind(values));
  return refusalNotices(organizationId, results, ctx.now());
}

/** The daily limits, if the latest audit row says that something was written today. */
async function readLimits(ctx: ServiceContext, facts: NoticeFacts, limits: DayLimits): Promise<NewNotice[]> {
  const { organizationId, timeZone, day, records, bytes } = facts;
  const now = ctx.now();
  if (day === null || records === null || bytes === null || day !== dateIn(timeZone, now)) return [];
  const values = { organizationId, now, day };
  const results = await readAll(ctx, findKeyDayUses.bind(values));
  return limitNotices(organizationId, { day, records, bytes }, results, limits, now);
}

async function readUnused(ctx: ServiceContext, organizationId: string): Promise<NewNotice[]> {
  const now = ctx.now();
  const [live, [rules]] = await readBatch(ctx, [
    findLiveKeys.bind({ organizationId, now }),
    findKeyRules.bind({ organizationId }),
  ]);
  const keys = live.map((row) => toKeyDetails(row, now));
  return unusedNotices(organizationId, keys, requireKeyRules(rules).unusedDays, now);
}
