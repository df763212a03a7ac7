import type { DocsModule } from '../../docs/module.ts';
import { REVIEW_DUE_DAYS } from './review-due.ts';

export const accessReviewDocs: DocsModule = {
  facts: { access_review_due: `An access review is due within ${REVIEW_DUE_DAYS} days, or overdue.` },
};
