import type { Child, PropsWithChildren } from 'hono/jsx';
import type { ApprovalDecision } from '../../../domain/record-kinds.ts';
import { type Entry, LISTED, type TimeQuery } from '../../../services/work/time-queue.ts';
import { addressOf, usePage } from '../page-context.ts';
import { Banner, Table } from './components.tsx';
import { columnsWithState, countedEntries, DECISIONS, decidedText } from './time-table.tsx';

/** Time that was selected for a decision, and about which nothing was decided. */
export interface Undecided {
  found: readonly Entry[];
  /** How many others do not exist. */
  missing: number;
}

/** Who decided before. */
const decidersOf = (found: readonly Entry[]) => [
  ...new Set(found.flatMap(({ approvals, decidedBy }) => (approvals === 'settings' && decidedBy) || [])),
];

/** Why nothing was decided about entries. */
export function undecidedText({ found, missing }: Undecided, psa: string): string {
  const before = found.filter(({ approvals }) => approvals === 'settings').length;
  const inPsa = found.length - before;
  const names = decidersOf(found);
  const details = [
    before > 0 &&
      `${countedEntries(before)} had already been decided by ${names.length > 3 ? 'several administrators' : names.join(', ')}.`,
    inPsa > 0 && `${countedEntries(inPsa)} ${inPsa === 1 ? 'is' : 'are'} decided in ${psa}.`,
    missing > 0 && `${countedEntries(missing)} ${missing === 1 ? 'was' : 'were'} not found in your organization.`,
  ];
  return details.filter(Boolean).join(' ');
}

/** The title of the page after a decision that was made about `done` entries, and not about the others. */
export function undecidedTitle({ found, missing }: Undecided, done: number, decision: ApprovalDecision): string {
  if (done > 0) return `${done} of ${decidedText(done + found.length + missing, decision)}`;
  const [name, ...others] = decidersOf(found);
  const isOfOne = name !== undefined && others.length + missing === 0;
  return `Nothing was ${DECISIONS[decision].word}${isOfOne ? `: ${name} has already decided` : ''}`;
}

/** The entries about which nothing was decided, with the decision of each. */
export function UndecidedTime({ query, ...undecided }: Undecided & { query: TimeQuery }) {
  const { psa } = usePage();
  const { found } = undecided;
  return (
    <Conflict why={undecidedText(undecided, psa)} query={query}>
      {found.length > 0 && (
        <Table caption="Decisions" kind="time with-state" columns={columnsWithState()} rows={found.slice(0, LISTED)} />
      )}
      {found.length > LISTED && <p>And {countedEntries(found.length - LISTED)} more.</p>}
    </Conflict>
  );
}

/** Why a change of time was not made, and the way back to the list. */
export function Conflict({ why, query, children }: PropsWithChildren<{ why: Child; query: TimeQuery }>) {
  const { base } = usePage();
  return (
    <>
      <Banner tone="warning">{why}</Banner>
      {children}
      <p>
        <a href={addressOf(`${base}/time`, query)}>Go back</a>
      </p>
    </>
  );
}
