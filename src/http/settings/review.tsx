import { type Context, Hono } from 'hono';
import { hasCode } from '../../domain/errors.ts';
import { readUsage, type Usage } from '../../services/keys/key-usage.ts';
import {
  keysToRevoke,
  listFinishedReviews,
  type ReviewOverview,
  type ReviewWithKeys,
  readOpenReview,
  readReview,
  readReviewOverview,
} from '../../services/keys/read-reviews.ts';
import { decideKeys, finishKeyReview, startKeyReview } from '../../services/keys/review-keys.ts';
import { type AdminEnv, adminContext } from '../context.ts';
import { csvDownload } from './download.ts';
import { readForm, shownCount } from './forms.ts';
import { pageContext, todayOf } from './page-context.ts';
import { PageProblem } from './page-problem.ts';
import { FinishReviewPage } from './pages/finish-review.tsx';
import { OpenReviewActions, OpenReviewPage } from './pages/open-review.tsx';
import { ChangeDecisionPage } from './pages/review-row.tsx';
import { ReviewsLead, ReviewsPage } from './pages/reviews.tsx';
import { render } from './render.tsx';
import { EVIDENCE_HEADINGS, evidenceLines } from './review-evidence.ts';
import { chosenDecisions, EMPTY_REVIEW_FORM, type ReviewForm, readReviewForm, reviewMessages } from './review-form.ts';
import { onOnePage, readReviewQuery, selectReviewed } from './review-query.ts';

/** The pages on which administrators review keys. */
export const review = new Hono<AdminEnv>();

const trail = (c: Context<AdminEnv>) => [{ href: `${pageContext(c).base}/keys`, text: 'All keys' }];
const reviewTrail = (c: Context<AdminEnv>) => [
  ...trail(c),
  { href: `${pageContext(c).base}/review`, text: 'The review' },
];

review.get('/review', async (c) => {
  const ctx = adminContext(c);
  const overview = await readReviewOverview(ctx);
  if (!overview.open) return renderFinished(c, overview);
  return renderOpen(c, overview, await readReview(ctx, overview.open.id), EMPTY_REVIEW_FORM);
});

review.get('/reviews', async (c) => renderFinished(c, await readReviewOverview(adminContext(c))));

/** The page of the finished reviews, on which a new one can be started. */
async function renderFinished(c: Context<AdminEnv>, overview: ReviewOverview) {
  const finished = await listFinishedReviews(adminContext(c), c.req.query('before'));
  const page = { ...overview, ...finished, context: pageContext(c), done: c.req.query('done') };
  return render(c, 'Access reviews', <ReviewsPage {...page} />, { lead: <ReviewsLead />, trail: trail(c) });
}

/** The page of an open review, with what was entered in its form. */
async function renderOpen(
  c: Context<AdminEnv>,
  { rules, due }: ReviewOverview,
  found: ReviewWithKeys,
  form: ReviewForm,
  status: 200 | 400 = 200,
) {
  const query = readReviewQuery(new URL(c.req.url).searchParams);
  // A form with errors shows the keys it was sent with, whichever page they were on.
  const sent = found.keys.filter(({ key, status }) => status === 'undecided' && form.entered.has(key.id));
  const selection = form.entered.size > 0 ? onOnePage(sent) : selectReviewed(found.keys, query);
  const shownIds = selection.shown.map(({ key }) => key.id);
  const usages = await readUsage(adminContext(c), shownIds, todayOf(c));
  const usageOf = (keyId: string): Usage => usages.get(keyId) ?? [];
  const context = pageContext(c);
  const page = { ...found, ...selection, query, form, rules, due, usageOf, context };
  const banners = { done: c.req.query('done'), saved: c.req.query('saved'), notSaved: c.req.query('not_saved') };
  return render(c, 'Access review', <OpenReviewPage {...page} {...banners} />, {
    status,
    trail: trail(c),
    actions: <OpenReviewActions {...found} context={context} />,
  });
}

review.post('/review', async (c) => {
  const result = await startKeyReview(adminContext(c));
  return c.redirect(`${pageContext(c).base}/review?done=${result}`, 303);
});

review.post('/review/:review/decisions', async (c) => {
  const ctx = adminContext(c);
  const reviewId = c.req.param('review');
  const entered = readReviewForm(await readForm(c));
  try {
    const decisions = chosenDecisions(entered);
    if (decisions.length === 0)
      throw new PageProblem(400, 'Nothing was decided', 'Choose “Keep” or “Revoke” for a key.');
    const { saved, notSaved } = await decideKeys(ctx, reviewId, decisions);
    return c.redirect(`${pageContext(c).base}/review?saved=${saved}&not_saved=${notSaved}`, 303);
  } catch (err) {
    if (!hasCode(err, 'invalid')) throw err;
    const messages = reviewMessages(err.errors, decidedIn(entered));
    const [overview, found] = await Promise.all([readReviewOverview(ctx), readOpenReview(ctx, reviewId)]);
    return renderOpen(c, overview, found, { ...entered, messages }, 400);
  }
});

/** The keys that have a decision in the form, in the order in which they are sent to the service. */
const decidedIn = ({ entered }: Pick<ReviewForm, 'entered'>) =>
  Array.from(entered).flatMap(([keyId, { decision }]) => (decision === undefined ? [] : [{ keyId }]));

// --- one key -------------------------------------------------------------------------------------

/** The key with a decision that can still be changed. */
async function findDecided(c: Context<AdminEnv>, reviewId: string, keyId: string) {
  const { keys } = await readOpenReview(adminContext(c), reviewId);
  const reviewed = keys.find(({ key }) => key.id === keyId);
  if (!reviewed) throw new PageProblem(404, 'Not found', 'The review has no key with this ID.');
  return reviewed;
}

review.get('/review/:review/keys/:key', async (c) => {
  const reviewed = await findDecided(c, c.req.param('review'), c.req.param('key'));
  const { decision } = reviewed;
  const entered = { decision: decision?.decision, reason: decision?.reason ?? '' };
  const page = {
    reviewId: c.req.param('review'),
    reviewed,
    shownAt: decision?.at ?? 0,
    context: pageContext(c),
    entered,
  };
  return render(
    c,
    `Change the decision on ${reviewed.key.name}`,
    <ChangeDecisionPage {...page} message={undefined} />,
    { trail: reviewTrail(c) },
  );
});

review.post('/review/:review/keys/:key', async (c) => {
  const [reviewId, keyId] = [c.req.param('review'), c.req.param('key')];
  const form = await readForm(c);
  const shownAt = shownCount(form, 'shown_at');
  const entered = readReviewForm(form).entered.get(keyId) ?? { decision: undefined, reason: '' };
  const reviewed = await findDecided(c, reviewId, keyId);
  const again = (message: string) => {
    const page = { reviewId, reviewed, shownAt, context: pageContext(c), entered, message };
    return render(c, `Change the decision on ${reviewed.key.name}`, <ChangeDecisionPage {...page} />, {
      status: 400,
      trail: reviewTrail(c),
    });
  };
  if (entered.decision === undefined) return again('Choose “Keep” or “Revoke”.');
  try {
    const decision = { keyId, decision: entered.decision, reason: entered.reason };
    const { saved } = await decideKeys(adminContext(c), reviewId, [decision], shownAt || null);
    return c.redirect(`${pageContext(c).base}/review?saved=${saved}&not_saved=${1 - saved}`, 303);
  } catch (err) {
    if (!hasCode(err, 'invalid')) throw err;
    return again(reviewMessages(err.errors, [{ keyId }]).get(keyId) ?? '');
  }
});

// --- finish --------------------------------------------------------------------------------------

review.get('/review/:review/finish', async (c) => {
  const found = await readOpenReview(adminContext(c), c.req.param('review'));
  const page = { ...found, toRevoke: keysToRevoke(found.keys), context: pageContext(c) };
  return render(c, 'Finish the review?', <FinishReviewPage {...page} />, { trail: reviewTrail(c) });
});

review.post('/review/:review/finish', async (c) => {
  const revoke = (await readForm(c)).getAll('revoke');
  const done = await finishKeyReview(adminContext(c), c.req.param('review'), revoke).catch((err: unknown) => {
    // A second click, or another administrator at the same time.
    if (!hasCode(err, 'review_finished')) throw err;
  });
  return c.redirect(`${pageContext(c).base}/review?done=${done === undefined ? 'already_finished' : 'finished'}`, 303);
});

review.get('/review/:review/evidence.csv', async (c) => {
  const found = await readReview(adminContext(c), c.req.param('review'));
  const { finishedAt } = found.review;
  if (finishedAt === null)
    throw new PageProblem(409, 'The review is not finished', 'Its evidence can be downloaded when it is finished.');
  const name = `access-review-${c.get('administrator').organization.id}-${new Date(finishedAt).toISOString().slice(0, 10)}.csv`;
  return csvDownload(c, {
    name,
    headings: EVIDENCE_HEADINGS,
    pages: evidenceLines(found),
    toCells: (cells) => cells,
  });
});
