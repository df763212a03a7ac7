import type { ReviewDecision } from '../../domain/access-review.ts';
import type { Decision, ReviewWithKeys } from '../../services/keys/access-review.ts';
import type { KeyDetails } from '../../services/keys/read-keys.ts';
import { scopeList } from './pages/components.tsx';

/** The columns of the evidence. */
export const EVIDENCE_HEADINGS = [
  'Review started',
  'Started by',
  'Review finished',
  'Finished by',
  'Key',
  'Key hint',
  'Key ID',
  'Created',
  'Created by',
  'Scopes',
  'Last write',
  'Decision',
  'Reason',
  'Decided by',
  'Decided at',
  'Revoked at',
];

/** In ISO 8601 and UTC, because the file must not change with the time zone of the organization. */
const utc = (at: number | null) => (at === null ? null : new Date(at).toISOString());

const DECISIONS: Record<ReviewDecision, string> = { keep: 'Keep', revoke: 'Revoke' };

/**
 * A finished review: one line for each key that was live when it began, followed by its successors
 * since then. Nothing that happens later changes it, except for the names of the administrators in
 * the directory.
 */
export async function* evidenceLines({ review, keys }: ReviewWithKeys) {
  const { startedAt, startedBy, finishedAt, finishedBy } = review;
  const of = [utc(startedAt), startedBy, utc(finishedAt), finishedBy];
  const end = finishedAt ?? startedAt;
  const items = keys.flatMap(({ key, decision, successors }) => [
    [...of, ...cellsOf(key, decision, end)],
    ...successors.map((successor) => [...of, ...cellsOf(successor, decision, end, key)]),
  ]);
  yield { items, next: undefined };
}

/** The cells of a key. `reviewed` is the key of the review that it succeeds. */
function cellsOf(key: KeyDetails, decision: Decision | null, finishedAt: number, reviewed?: KeyDetails) {
  const revokedAt = key.revokedAt !== null && key.revokedAt <= finishedAt ? key.revokedAt : null;
  const suffix = reviewed ? `, decided on ${reviewed.hint}, which it replaces` : '';
  const made = decision
    ? [`${DECISIONS[decision.decision]}${suffix}`, decision.reason, decision.by, utc(decision.at)]
    : reviewed
      ? [`None: replaces ${reviewed.hint}, which ended before a decision`, null, null, null]
      : revokedAt !== null
        ? ['None: revoked before a decision', null, key.revokedBy, utc(revokedAt)]
        : ['None: expired before a decision', null, null, utc(key.expiresAt)];
  // What can change after the review is not shown of a successor.
  const lastWriteAt = reviewed ? null : decision ? decision.lastWriteAt : (key.lastWrite?.at ?? null);
  return [
    decision?.keyName ?? (reviewed ?? key).name,
    key.hint,
    key.id,
    utc(key.createdAt),
    key.createdBy,
    scopeList(key.scopes),
    utc(lastWriteAt),
    ...made,
    utc(revokedAt),
  ];
}
