import type { Module } from '../../module.ts';
import { REVIEW_DUE } from './review-due.ts';
import { ReviewField } from './review-field.tsx';
import { findOpenReviewProgress } from './review-statements.ts';
import { accessReview } from './routes.tsx';

/** Administrators decide in turn for each key whether it is still needed. */
export const accessReviews: Module = {
  name: 'access-review',
  start: () => ({
    settings: accessReview,
    facts: [REVIEW_DUE],
    keyRule: (form) => <ReviewField form={form} />,
    keyTask: {
      title: 'Access review',
      path: '/access-review',
      progress: ({ actor: { organizationId }, now }) =>
        findOpenReviewProgress.bind({ organizationId, reviewId: null, now: now() }),
    },
  }),
};
