// What the tables of access reviews accept. Everything else of them is in the module.

export const REVIEW_DECISIONS = ['keep', 'revoke'] as const;
export type ReviewDecision = (typeof REVIEW_DECISIONS)[number];
