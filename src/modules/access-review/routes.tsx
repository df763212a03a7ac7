import { type Context, Hono } from 'hono';
import { REVIEW_DECISIONS } from '../../domain/access-review.ts';
import { dateIn } from '../../domain/calendar.ts';
import { MAX_REASON_LENGTH } from '../../domain/decision-reason.ts';
import { hasCode } from '../../domain/errors.ts';
import { CSV_SETTINGS, companyIds } from '../../domain/key-settings.ts';
import { type AdminEnv, adminContext } from '../../http/hono-env.ts';
import { type Column, csvDownload, spreadsheetTime } from '../../http/settings/download.ts';
import { type FormState, readForm } from '../../http/settings/forms.ts';
import { redirectWith, todayOf } from '../../http/settings/page-context.ts';
import { PageProblem } from '../../http/settings/page-problem.ts';
import { counted, formatNumber, scopeList } from '../../http/settings/pages/components.tsx';
import { render, trail } from '../../http/settings/render-page.tsx';
import { listCompanies } from '../../services/directory/companies.ts';
import { readUsage } from '../../services/keys/key-usage.ts';
import type { KeyDetails } from '../../services/keys/read-keys.ts';
import { AccessReviewPage, DECISION_LABELS } from './review-page.tsx';
import {
  type AccessReview,
  decideKeys,
  finishAccessReview,
  readAccessReview,
  readAccessReviews,
  readOpenReview,
  type StoredDecision,
  startAccessReview,
} from './reviews.ts';

export const accessReview = new Hono<AdminEnv>();

/** How many reviews the page lists, and how many its link to older ones. */
const [LISTED, ALL] = [8, 500];

accessReview.get('/access-review', (c) => renderReview(c));

async function renderReview(c: Context<AdminEnv>, refused?: FormState, isPartlySaved = false) {
  const ctx = adminContext(c);
  const overview = await readAccessReviews(ctx, c.req.query('list') === 'all' ? ALL : LISTED);
  const keyIds = overview.open?.keys.flatMap(({ key, successors }) => [key, ...successors].map(({ id }) => id)) ?? [];
  const limitedTo = overview.open?.keys.flatMap(({ key }) => companyIds(key.companies)) ?? [];
  const [usages, companies] = await Promise.all([
    readUsage(ctx, keyIds, todayOf(c)),
    listCompanies(ctx, [...new Set(limitedTo)]),
  ]);
  const page = { ...overview, usages, companies, refused, isPartlySaved };
  return render(c, 'Access review', <AccessReviewPage {...page} />, {
    status: refused ? 400 : isPartlySaved ? 409 : 200,
    hasErrors: refused !== undefined,
    lead: <p class="minor">For each key that works: is it still needed, and who decided so, when and why?</p>,
    trail: trail(c),
  });
}

accessReview.post('/access-review', async (c) => {
  await startAccessReview(adminContext(c));
  const notice = 'A review is open. It has every key that worked when it began.';
  return redirectWith(c, '/access-review', notice);
});

accessReview.post('/access-review/:review/decisions', async (c) => {
  const ctx = adminContext(c);
  const reviewId = c.req.param('review');
  const { keys } = await readOpenReview(ctx, reviewId);
  const values = await readForm(c);
  // Long enough to be refused, and short enough to check it for each key.
  const field = (name: string) => (values.get(name) ?? '').trim().slice(0, 2 * MAX_REASON_LENGTH + 1);
  const keepsOthers = field('others') === 'keep';
  if (keepsOthers && field('reason') === '')
    return renderReview(c, { values, messages: { reason: 'Enter the reason for all keys that are kept.' } });
  const entered = keys.flatMap(({ key: { id: keyId }, decision: saved, works }) => {
    const ownReason = field(`reason-${keyId}`);
    const decision =
      REVIEW_DECISIONS.find((one) => one === field(`decision-${keyId}`)) ??
      (keepsOthers && works && !saved && ownReason === '' ? 'keep' : undefined);
    const reason = ownReason || (decision === 'keep' ? field('reason') : '');
    const shown = field(`shown-${keyId}`);
    const shownAt = /^\d{1,15}$/.test(shown) ? Number(shown) : null;
    return decision || reason ? [{ saved, input: { keyId, decision, reason, shownAt } }] : [];
  });
  if (entered.length === 0)
    return renderReview(c, { values, messages: { '': 'Choose “Keep” or “Revoke” for a key.' } });
  const changed = entered.flatMap(({ saved, input }) =>
    saved?.decision === input.decision && saved?.reason === input.reason ? [] : [input],
  );
  try {
    // The second time, such as by a second click, none is changed.
    const notSaved = changed.length === 0 ? 0 : await decideKeys(ctx, reviewId, changed);
    if (notSaved > 0) return renderReview(c, undefined, true);
  } catch (err) {
    if (!hasCode(err, 'invalid')) throw err;
    const keyIds = err.errors.map(({ pointer }) => changed[Number(pointer.split('/')[1])]?.keyId);
    const messages = Object.fromEntries(keyIds.map((keyId) => [`reason-${keyId}`, INCOMPLETE]));
    return renderReview(c, { values, messages });
  }
  return redirectWith(c, '/access-review', 'The decisions are saved.');
});

const INCOMPLETE = `Choose “Keep” or “Revoke”, and enter a reason of at most ${MAX_REASON_LENGTH} characters.`;

accessReview.post('/access-review/:review/finish', async (c) => {
  const revoke = (await readForm(c)).getAll('revoke');
  const [ctx, reviewId] = [adminContext(c), c.req.param('review')];
  await finishAccessReview(ctx, reviewId, revoke);
  const { kept, revoked } = (await readAccessReview(ctx, reviewId)).review;
  const outcome = `The review is finished. It keeps ${counted(kept, 'key')} and revokes ${formatNumber(revoked)}.`;
  return redirectWith(c, '/access-review', `${outcome} Its evidence can be downloaded below.`);
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

interface Line {
  review: AccessReview['review'];
  key: KeyDetails;
  decision: StoredDecision | null;
  /** The key of the review that this one succeeds. */
  reviewed?: KeyDetails;
}

/** In UTC only, because the file must not change with the time zone of the organization. */
const time = (heading: string, timeOf: (line: Line) => number | null | undefined): Column<Line> => [
  `${heading} (UTC)`,
  (line) => {
    const at = timeOf(line) ?? null;
    return at === null ? null : spreadsheetTime(at);
  },
];

const EVIDENCE_COLUMNS: readonly Column<Line>[] = [
  time('Access review started', ({ review }) => review.startedAt),
  ['Started by', ({ review }) => review.startedBy],
  time('Access review finished', ({ review }) => review.finishedAt),
  ['Finished by', ({ review }) => review.finishedBy],
  ['Key', ({ key }) => key.name],
  ['Key hint', ({ key }) => key.hint],
  ['Key ID', ({ key }) => key.id],
  time('Created', ({ key }) => key.createdAt),
  ['Created by', ({ key }) => key.createdBy],
  ['Scopes', ({ key }) => scopeList(key.scopes)],
  ...CSV_SETTINGS.map(({ name, csv }): Column<Line> => [csv, ({ key }) => key[name]]),
  // The writes of a successor can change after the review.
  time('Last write', ({ key, decision, reviewed }) =>
    reviewed ? null : decision ? decision.lastWriteAt : key.lastWrite?.at,
  ),
  ['Decision', (line) => outcome(line)[0]],
  ['Reason', ({ decision }) => decision?.reason ?? null],
  ['Decided by', (line) => outcome(line)[1]],
  time('Decided at', (line) => outcome(line)[2]),
  time('Revoked at', revokedAt),
];

/** A line for each key of a finished review, followed by its successors. Later events do not change it. */
async function* evidenceLines({ review, keys }: AccessReview) {
  const items = keys.flatMap(({ key, decision, successors }): Line[] => [
    { review, key, decision },
    ...successors.map((successor) => ({ review, key: successor, decision, reviewed: key })),
  ]);
  yield { items, next: undefined };
}

function revokedAt({ review: { startedAt, finishedAt }, key }: Line): number | null {
  return key.revokedAt !== null && key.revokedAt <= (finishedAt ?? startedAt) ? key.revokedAt : null;
}

function outcome(line: Line): [text: string, by: string | null, at: number | null] {
  const { key, decision, reviewed } = line;
  const suffix = reviewed ? `, decided on its predecessor ${reviewed.hint}` : '';
  if (decision) return [`${DECISION_LABELS[decision.decision]}${suffix}`, decision.by, decision.at];
  if (reviewed) return [`None: its predecessor ${reviewed.hint} ended before a decision`, null, null];
  const at = revokedAt(line);
  return at === null
    ? ['None: expired before a decision', null, key.expiresAt]
    : ['None: revoked before a decision', key.revokedBy, at];
}
