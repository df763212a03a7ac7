import * as z from 'zod';
import { decideKey, finishReview, revokeDecided, startReview } from '../../db/keys/reviews.ts';
import { ServiceError } from '../../domain/errors.ts';
import { type KeyDecision, keyDecision } from '../../domain/key-review.ts';
import { timeOrderedId } from '../../domain/record-id.ts';
import { type AuditedChange, byAdministrator, hasChanged, writeWithAudit } from '../audit/write-with-audit.ts';
import type { ActorContext, AdminActor } from '../context.ts';
import { administratorsTimeZone } from '../directory/administrators.ts';
import { parseInput } from '../parse-input.ts';
import { keysToRevoke, readReview, readReviewOverview, reviewFinished } from './read-reviews.ts';

/** The most decisions at a time: as many as one page of a review has. */
export const MAX_DECISIONS = 20;

/**
 * Begins a review of the keys that are live now, unless one is open.
 * @throws ServiceError `not_administrator`
 */
export async function startKeyReview(ctx: ActorContext<AdminActor>): Promise<'started' | 'already_open'> {
  const reviewId = timeOrderedId(ctx.now());
  const [started] = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (now) => [
    { statement: startReview.bind({ ...ctx.actor, reviewId, now }), action: 'key_review.started', targetId: reviewId },
  ]);
  if (hasChanged(started)) return 'started';
  await administratorsTimeZone(ctx);
  const { open } = await readReviewOverview(ctx);
  return open?.id === reviewId ? 'started' : 'already_open';
}

const keyDecisions = z.array(keyDecision).min(1).max(MAX_DECISIONS);

/** A decision that replaces the one of the time `shownAt`, or is the first one if that is null. */
type DecisionInput = z.input<typeof keyDecision>;

/**
 * Records decisions in an open review, each with its audit row. Nothing is revoked before the review
 * is finished. Returns how many were saved. Those on keys that another administrator has decided on
 * since `shownAt` (null: that had no decision), or that have ended, are not saved.
 * @throws ServiceError `invalid`, `review_not_found`, `review_finished`, `not_administrator`
 */
export async function decideKeys(
  ctx: ActorContext<AdminActor>,
  reviewId: string,
  input: readonly DecisionInput[],
  shownAt: number | null = null,
): Promise<{ saved: number; notSaved: number }> {
  const decisions = parseInput(keyDecisions, input);
  const results = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (now) =>
    decisions.map(({ keyId, decision, reason }) => ({
      statement: decideKey.bind({ ...ctx.actor, reviewId, keyId, decision, reason, now, shownAt }),
      action: 'api_key.reviewed',
      targetId: keyId,
      detail: `${decision}: ${reason}`,
    })),
  );
  const rest = decisions.filter((_, index) => !hasChanged(results[index]));
  const saved = decisions.length - rest.length + (rest.length > 0 ? await countMade(ctx, reviewId, rest) : 0);
  return { saved, notSaved: decisions.length - saved };
}

/** How many of these decisions are stored: their acknowledgement was lost. */
async function countMade(
  ctx: ActorContext<AdminActor>,
  reviewId: string,
  decisions: readonly KeyDecision[],
): Promise<number> {
  await administratorsTimeZone(ctx);
  const { review, keys } = await readReview(ctx, reviewId);
  if (review.finishedAt !== null) throw reviewFinished();
  const stored = new Map(keys.map(({ key, decision }) => [key.id, decision]));
  return decisions.filter(({ keyId, decision, reason }) => {
    const made = stored.get(keyId);
    return made?.decision === decision && made.reason === reason && made.byId === ctx.actor.userId;
  }).length;
}

/**
 * Finishes a review and revokes the keys on which it decided so, in one transaction. `revoke` has
 * the ids of the keys that the administrator has confirmed: if another one is to be revoked, or a
 * live key has no decision, nothing happens. Returns how many keys were revoked.
 * @throws ServiceError `review_not_found`, `review_finished`, `review_changed_meanwhile`,
 *   `not_administrator`
 */
export async function finishKeyReview(
  ctx: ActorContext<AdminActor>,
  reviewId: string,
  revoke: readonly string[],
): Promise<number> {
  const { review, keys } = await readReview(ctx, reviewId);
  if (review.finishedAt !== null) throw reviewFinished();
  const confirmed = keysToRevoke(keys).filter(({ key }) => revoke.includes(key.id));
  const [finished, ...revocations] = await writeWithAudit(ctx, byAdministrator(ctx), 'may_have_written', (now) => {
    const values = { ...ctx.actor, reviewId, now };
    const changes: AuditedChange<never>[] = [
      {
        statement: finishReview.bind({ ...values, revoke: JSON.stringify(confirmed.map(({ key }) => key.id)) }),
        action: 'key_review.finished',
        targetId: reviewId,
        unlimited: true,
      },
    ];
    for (const { key } of confirmed) {
      const statement = revokeDecided.bind({ ...values, keyId: key.id });
      const detail = 'decided in a review';
      changes.push({ statement, action: 'api_key.revoked', targetId: key.id, detail, unlimited: true });
    }
    return changes;
  });
  if (hasChanged(finished)) return revocations.filter(hasChanged).length;

  await administratorsTimeZone(ctx);
  const { review: after } = await readReview(ctx, reviewId);
  if (after.finishedAt !== null) throw reviewFinished();
  const detail = 'A key has no decision, or a decision has changed; the review is still open, and nothing was revoked.';
  throw new ServiceError('review_changed_meanwhile', detail);
}
