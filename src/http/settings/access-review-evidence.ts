import { CSV_SETTINGS } from '../../domain/key-settings.ts';
import type { AccessReview, Decision } from '../../services/keys/access-review.ts';
import type { KeyDetails } from '../../services/keys/read-keys.ts';
import { type Column, spreadsheetTime } from './download.ts';
import { DECISION_LABELS } from './pages/access-review-row.tsx';
import { scopeList } from './pages/components.tsx';

interface Line {
  review: AccessReview['review'];
  key: KeyDetails;
  decision: Decision | null;
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

export const EVIDENCE_COLUMNS: readonly Column<Line>[] = [
  time('Review started', ({ review }) => review.startedAt),
  ['Started by', ({ review }) => review.startedBy],
  time('Review finished', ({ review }) => review.finishedAt),
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
export async function* evidenceLines({ review, keys }: AccessReview) {
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
