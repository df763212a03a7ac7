import { type Context, Hono } from 'hono';
import { MAX_REASON_LENGTH, REVIEW_DECISIONS } from '../../domain/access-review.ts';
import { dateIn } from '../../domain/calendar.ts';
import { hasCode } from '../../domain/errors.ts';
import {
  accessReviewFinished,
  decideKeys,
  finishAccessReview,
  MAX_REVIEWED_KEYS,
  readAccessReview,
  readAccessReviews,
  startAccessReview,
} from '../../services/keys/access-review.ts';
import { readUsage } from '../../services/keys/key-usage.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { EVIDENCE_COLUMNS, evidenceLines } from './access-review-evidence.ts';
import { csvDownload } from './download.ts';
import { readForm } from './forms.ts';
import { pageContext, todayOf } from './page-context.ts';
import { PageProblem } from './page-problem.ts';
import { AccessReviewLead, AccessReviewPage } from './pages/access-review-page.tsx';
import type { AccessReviewForm, EnteredDecision } from './pages/access-review-row.tsx';
import { render, trail } from './render-page.tsx';

export const accessReview = new Hono<AdminEnv>();

// The fields of the form are `decision-{key}`, `reason-{key}` and `shown-{key}` (the time of the decision
// that it replaces), and one reason for every key that is kept without a reason of its own.

const EMPTY_FORM: AccessReviewForm = { entered: new Map(), common: '', messages: new Map() };

/** How many reviews the page lists, and how many its link to older ones. */
const [LISTED, ALL] = [8, 500];

accessReview.get('/access-review', (c) => renderReview(c, EMPTY_FORM, 200));

async function renderReview(c: Context<AdminEnv>, form: AccessReviewForm, status: 200 | 400) {
  const ctx = adminContext(c);
  const overview = await readAccessReviews(ctx, c.req.query('list') === 'all' ? ALL : LISTED);
  const undecided = (overview.open?.keys ?? []).flatMap(({ key, status }) => (status === 'undecided' ? [key.id] : []));
  const usages = await readUsage(ctx, undecided, todayOf(c));
  const { done, saved, not_saved: notSaved } = c.req.query();
  return render(c, 'Access review', <AccessReviewPage {...{ ...overview, form, usages, done, saved, notSaved }} />, {
    status,
    hasErrors: status === 400,
    lead: <AccessReviewLead />,
    trail: trail(c),
  });
}

const reviewPath = (c: Context<AdminEnv>) => `${pageContext(c).base}/access-review`;

accessReview.post('/access-review', async (c) => {
  const result = await startAccessReview(adminContext(c));
  return c.redirect(`${reviewPath(c)}?done=${result}`, 303);
});

accessReview.post('/access-review/:review/decisions', async (c) => {
  const ctx = adminContext(c);
  const reviewId = c.req.param('review');
  const form = readReviewForm(await readForm(c));
  const decided = Array.from(form.entered).flatMap(([keyId, { decision, reason, shownAt }]) =>
    decision || reason
      ? [{ keyId, decision, reason: reason || (decision === 'keep' ? form.common : ''), shownAt }]
      : [],
  );
  if (decided.length === 0)
    return renderReview(c, { ...form, messages: new Map(), message: 'Choose “Keep” or “Revoke” for a key.' }, 400);
  try {
    const { saved, notSaved } = await decideKeys(ctx, reviewId, decided);
    return c.redirect(`${reviewPath(c)}?saved=${saved}&not_saved=${notSaved}`, 303);
  } catch (err) {
    if (!hasCode(err, 'invalid')) throw err;
    if ((await readAccessReview(ctx, reviewId)).review.finishedAt !== null) throw accessReviewFinished();
    const messages = err.errors.map(({ pointer, code }): [string, string] => {
      const [, index] = pointer.split('/');
      return [decided[Number(index)]?.keyId ?? '', MESSAGES[code] ?? FORBIDDEN];
    });
    return renderReview(c, { ...form, messages: new Map(messages) }, 400);
  }
});

function readReviewForm(form: URLSearchParams): Omit<AccessReviewForm, 'messages'> {
  const entered = new Map<string, EnteredDecision>();
  for (const name of form.keys()) {
    const [, keyId] = /^(?:decision|reason)-([0-9a-f-]{36})$/.exec(name) ?? [];
    if (keyId === undefined) continue;
    const decision = REVIEW_DECISIONS.find((one) => one === form.get(`decision-${keyId}`));
    const shown = form.get(`shown-${keyId}`) ?? '';
    const shownAt = /^\d{1,15}$/.test(shown) ? Number(shown) : null;
    entered.set(keyId, { decision, reason: form.get(`reason-${keyId}`)?.trim() ?? '', shownAt });
  }
  if (entered.size > MAX_REVIEWED_KEYS) {
    const detail = `A review has at most ${MAX_REVIEWED_KEYS} keys. Open the page again.`;
    throw new PageProblem(400, 'Too many keys', detail);
  }
  return { entered, common: form.get('reason')?.trim() ?? '' };
}

const MESSAGES: Record<string, string> = {
  required: 'Choose “Keep” or “Revoke”, or leave the reason empty.',
  too_short: 'Enter a reason.',
  too_long: `Use at most ${MAX_REASON_LENGTH} characters.`,
};
const FORBIDDEN = 'The reason has a character that cannot be stored. Remove it.';

accessReview.post('/access-review/:review/finish', async (c) => {
  const revoke = (await readForm(c)).getAll('revoke');
  const done = await finishAccessReview(adminContext(c), c.req.param('review'), revoke).catch((err: unknown) => {
    // A second click, or another administrator at the same time.
    if (!hasCode(err, 'access_review_finished')) throw err;
  });
  return c.redirect(`${reviewPath(c)}?done=${done === undefined ? 'already_finished' : 'finished'}`, 303);
});

accessReview.get('/access-review/:review/evidence.csv', async (c) => {
  const found = await readAccessReview(adminContext(c), c.req.param('review'));
  const { finishedAt } = found.review;
  if (finishedAt === null)
    throw new PageProblem(409, 'The review is not finished', 'Its evidence can be downloaded when it is finished.');
  const { id, timeZone } = c.get('administrator').organization;
  return csvDownload(c, {
    name: `${id}-access-review-${dateIn(timeZone, finishedAt)}.csv`,
    columns: EVIDENCE_COLUMNS,
    pages: evidenceLines(found),
  });
});
