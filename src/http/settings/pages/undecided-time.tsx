import type { Child, PropsWithChildren } from 'hono/jsx';
import { LISTED, type TimeQuery } from '../../../domain/time-query.ts';
import type { Entry } from '../../../services/work/time-queue.ts';
import { addressOf, usePage } from '../page-context.ts';
import { Banner, Table } from './components.tsx';
import { columnsWithState, countedEntries } from './time-table.tsx';

/** Time that was selected for a decision, and about which nothing was decided. */
export interface Undecided {
  found: readonly Entry[];
  /** How many others do not exist. */
  missing: number;
}

/** Why nothing was decided about entries. */
export function undecidedText({ found, missing }: Undecided, psa: string): string {
  const decided = found.filter(({ approvals }) => approvals === 'settings');
  const inPsa = found.length - decided.length;
  const names = new Set(decided.map(({ decidedBy }) => decidedBy ?? ''));
  const details = [
    names.size > 0 &&
      `${countedEntries(decided.length)} had already been decided by ${new Intl.ListFormat('en-GB').format(names)}.`,
    inPsa > 0 && `${countedEntries(inPsa)} ${inPsa === 1 ? 'is' : 'are'} decided in ${psa}.`,
    missing > 0 && `${countedEntries(missing)} ${missing === 1 ? 'was' : 'were'} not found in your organization.`,
  ];
  return details.filter(Boolean).join(' ');
}

/** The entries about which nothing was decided, with the decision of each, below what was decided and why not all was. */
export function UndecidedTime({
  found,
  query,
  children,
}: PropsWithChildren<Pick<Undecided, 'found'> & { query: TimeQuery }>) {
  return (
    <Conflict why={children} query={query}>
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
