import * as z from 'zod';
import type { ReviewDecision } from '../../domain/access-review.ts';
import { CSV_SETTINGS, type KeySettings } from '../../domain/key-settings.ts';
import { parseStored } from '../../domain/stored-json.ts';
import type { AccessReview, DecisionRow } from '../../services/keys/access-review.ts';
import type { KeyDetails } from '../../services/keys/read-keys.ts';
import { type Column, spreadsheetTime } from './download.ts';
import { scopeList } from './pages/components.tsx';

interface Line {
  review: AccessReview['review'];
  key: KeyDetails;
  decision: DecisionRow | null;
  /** The key of the review that this one succeeds. */
  reviewed?: KeyDetails;
  /** The settings of the key at the decision. */
  settings: Partial<Record<keyof KeySettings, string | number | null>>;
}

/** In UTC only, because the file must not change with the time zone of the organization. */
const utc = (at: number | null) => (at === null ? null : spreadsheetTime(at));

export const EVIDENCE_COLUMNS: readonly Column<Line>[] = [
  ['Review started (UTC)', ({ review }) => utc(review.startedAt)],
  ['Started by', ({ review }) => review.startedBy],
  ['Review finished (UTC)', ({ review }) => utc(review.finishedAt)],
  ['Finished by', ({ review }) => review.finishedBy],
  ['Key', ({ key, decision, reviewed }) => decision?.keyName ?? (reviewed ?? key).name],
  ['Key hint', ({ key }) => key.hint],
  ['Key ID', ({ key }) => key.id],
  ['Created (UTC)', ({ key }) => utc(key.createdAt)],
  ['Created by', ({ key }) => key.createdBy],
  ['Scopes', ({ key }) => scopeList(key.scopes)],
  ...CSV_SETTINGS.map(({ name, csv }): Column<Line> => [csv, ({ settings }) => settings[name] ?? null]),
  ['Last write (UTC)', (line) => utc(lastWriteAt(line))],
  ['Decision', (line) => outcome(line)[0]],
  ['Reason', ({ decision }) => decision?.reason ?? null],
  ['Decided by', (line) => outcome(line)[1]],
  ['Decided at (UTC)', (line) => utc(outcome(line)[2])],
  ['Revoked at (UTC)', (line) => utc(revokedAt(line))],
];

/** A line for each key of a finished review, followed by its successors. Later events do not change it. */
export async function* evidenceLines({ review, keys }: AccessReview) {
  const items = keys.flatMap(({ key, decision, successors }): Line[] => [
    { review, key, decision, settings: settingsOf(key, decision) },
    ...successors.map((successor) => ({ review, key: successor, decision, reviewed: key, settings: {} })),
  ]);
  yield { items, next: undefined };
}

// A successor's writes and settings can change after the review. A key without a decision had ended: its settings
// cannot change.
function settingsOf(key: KeyDetails, decision: DecisionRow | null): Line['settings'] {
  if (!decision) return key;
  if (decision.keySettings === null) return {};
  const shape = z.record(z.string(), z.union([z.string(), z.number()]).nullable());
  return parseStored(shape, decision.keySettings, `the settings of key ${key.id} in a review`);
}

const lastWriteAt = ({ key, decision, reviewed }: Line) =>
  reviewed ? null : decision ? decision.lastWriteAt : (key.lastWrite?.at ?? null);

const revokedAt = ({ review: { startedAt, finishedAt }, key }: Line) =>
  key.revokedAt !== null && key.revokedAt <= (finishedAt ?? startedAt) ? key.revokedAt : null;

const DECISIONS: Record<ReviewDecision, string> = { keep: 'Keep', revoke: 'Revoke' };

function outcome(line: Line): [text: string, by: string | null, at: number | null] {
  const { key, decision, reviewed } = line;
  const suffix = reviewed ? `, decided on its predecessor ${reviewed.hint}` : '';
  if (decision) return [`${DECISIONS[decision.decision]}${suffix}`, decision.by, decision.at];
  if (reviewed) return [`None: its predecessor ${reviewed.hint} ended before a decision`, null, null];
  const at = revokedAt(line);
  return at === null
    ? ['None: expired before a decision', null, key.expiresAt]
    : ['None: revoked before a decision', key.revokedBy, at];
}
