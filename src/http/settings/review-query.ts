import type { ReviewedKey } from '../../services/keys/read-reviews.ts';
import { MAX_DECISIONS } from '../../services/keys/review-keys.ts';

/** Which keys of a review a page shows. */
export const REVIEW_FILTERS = ['undecided', 'keep', 'revoke', 'ended', 'all'] as const;
export type ReviewFilter = (typeof REVIEW_FILTERS)[number];

/** The filter and the page in the address. */
export interface ReviewQuery {
  show: ReviewFilter;
  /** From 1 on. */
  page: number;
}

/** Reads filter and page from the address. What is not valid there is ignored. */
export function readReviewQuery(parameters: URLSearchParams): ReviewQuery {
  const page = /^\d{1,2}$/.test(parameters.get('page') ?? '') ? Number(parameters.get('page')) : 1;
  return {
    show: REVIEW_FILTERS.find((filter) => filter === parameters.get('show')) ?? 'undecided',
    page: Math.max(1, page),
  };
}

/** The address of a page of the review. */
export function reviewPath(base: string, { show, page }: ReviewQuery): string {
  const parameters = new URLSearchParams({
    ...(show === 'undecided' ? {} : { show }),
    ...(page === 1 ? {} : { page: String(page) }),
  });
  return `${base}/review${parameters.size > 0 ? '?' : ''}${parameters}`;
}

/** The keys of one page, and how many match on how many pages. */
export interface ReviewSelection {
  shown: readonly ReviewedKey[];
  matching: number;
  page: number;
  pages: number;
}

/** These keys on one page. */
export const onOnePage = (keys: readonly ReviewedKey[]): ReviewSelection => ({
  shown: keys,
  matching: keys.length,
  page: 1,
  pages: 1,
});

/** The keys that the query selects. */
export function selectReviewed(keys: readonly ReviewedKey[], { show, page }: ReviewQuery): ReviewSelection {
  const matching = show === 'all' ? keys : keys.filter(({ status }) => status === show);
  const pages = Math.max(1, Math.ceil(matching.length / MAX_DECISIONS));
  const shownPage = Math.min(page, pages);
  return {
    shown: matching.slice((shownPage - 1) * MAX_DECISIONS, shownPage * MAX_DECISIONS),
    matching: matching.length,
    page: shownPage,
    pages,
  };
}
