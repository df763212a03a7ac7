import type { ReviewDecision } from '../../domain/key-review.ts';
import type { ReviewedKey, ReviewWithKeys } from '../../services/keys/read-reviews.ts';
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
 * A finished review: one line for each key that was live when it began. Nothing that happens later
 * changes it, except for the names of the administrators in the directory.
 */
export async function* evidenceLines({ review, keys }: ReviewWithKeys) {
  const { startedAt, startedBy, finishedAt, finishedBy } = review;
  const of = [utc(startedAt), startedBy, utc(finishedAt), finishedBy];
  const items = keys.map((reviewed) => [...of, ...cellsOf(reviewed, finishedAt ?? startedAt)]);
  yield { items, next: undefined };
}

function cellsOf({ key, decision }: ReviewedKey, finishedAt: number) {
  const revokedAt = key.revokedAt !== null && key.revokedAt <= finishedAt ? key.revokedAt : null;
  const made = decision
    ? [DECISIONS[decision.decision], decision.reason, decision.by, utc(decision.at)]
    : revokedAt !== null
      ? ['None: revoked before a decision', null, key.revokedBy, utc(revokedAt)]
      : ['None: expired before a decision', null, null, utc(key.expiresAt)];
  return [
    decision?.keyName ?? key.name,
    key.hint,
    key.id,
    utc(key.createdAt),
    key.createdBy,
    scopeList(key.scopes),
    utc(decision ? decision.lastWriteAt : (key.lastWrite?.at ?? null)),
    ...made,
    utc(revokedAt),
  ];
}
