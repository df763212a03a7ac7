import { type Context, Hono } from 'hono';
import { decisionReason, MAX_REASON_LENGTH } from '../../domain/decision-reason.ts';
import { APPROVAL_DECISIONS } from '../../domain/record-kinds.ts';
import { FILE_PART, isFiltered, MAX_ALL, PAGE, type TimeQuery, textSizeOf } from '../../domain/time-query.ts';
import {
  decideTime,
  type Entry,
  exportTime,
  hasAllMarks,
  hasAnyTime,
  MAX_SORTED,
  type Queue,
  readChoices,
  readEntries,
  readLastDecision,
  readTime,
  readUndecided,
  type TimeTotals,
} from '../../services/work/time-queue.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { amountCell, type Column, csvDownload, fileName } from './download.ts';
import { readForm } from './forms.ts';
import { addressOf, pageContext, redirectWith } from './page-context.ts';
import { PageProblem } from './page-problem.ts';
import { CsvLink, formatNumber } from './pages/components.tsx';
import { ConfirmTime } from './pages/confirm-time.tsx';
import { TimeLead, TimePage } from './pages/time-entries.tsx';
import { countedEntries, DECISIONS, decidedText, STATES, totalsHeadings, totalsText } from './pages/time-table.tsx';
import { type Undecided, UndecidedTime, undecidedText } from './pages/undecided-time.tsx';
import { render } from './render-page.tsx';
import { shownEntries } from './shown-entries.ts';
import { timeQueryOf, validTime } from './time-query.ts';

export const timeEntries = new Hono<AdminEnv>();

function queueOf(c: Context<AdminEnv>): Queue {
  const { waiting, organization } = c.get('administrator');
  return { waiting, timeZone: organization.timeZone };
}

const readDecision = (text: string | null | undefined) => APPROVAL_DECISIONS.find((decision) => decision === text);

timeEntries.get('/time', validTime, async (c) => {
  const { upTo: _, ...query } = c.req.valid('query');
  const ctx = adminContext(c);
  const { waiting, timeZone } = queueOf(c);
  const [found, choices] = await Promise.all([readTime(ctx, { waiting, timeZone }, query), readChoices(ctx)]);
  const entries = shownEntries(c, found.entries, textSizeOf(query).shown);
  const isEmpty = entries.length === 0 && !isFiltered(query);
  const [last, hasTime] = isEmpty
    ? await Promise.all([query.state === 'waiting' ? readLastDecision(ctx) : undefined, hasAnyTime(ctx)])
    : [undefined, true];
  const preselected = c.req.query('select') ?? query.entry;
  const { approvals } = c.get('administrator').organization;
  const props = { entries, choices, query, approvals, last, hasTime, preselected, waiting };
  return render(c, 'Time', <TimePage {...found} {...props} />, {
    lead: hasTime && <TimeLead {...props} />,
    actions: entries.length > 0 && (
      <CsvLink to={addressOf(`${pageContext(c).base}/time.csv`, { ...query, before: undefined })} />
    ),
  });
});

timeEntries.get('/time/decide', validTime, async (c) => {
  const parameters = new URL(c.req.url).searchParams;
  const { before, entry: _, upTo, ...query } = c.req.valid('query');
  const all = readDecision(parameters.get('all'));
  const decision = all ?? readDecision(parameters.get('selected'));
  const ctx = adminContext(c);
  const ids = chosenIn(parameters);
  if (!decision || (!all && ids.length === 0))
    return redirectWith(c, addressOf('/time', { ...query, before }), 'No entry was selected.', 'warning');
  if (!all) return offer(c, ids, { decision, query, before });
  const { entries, totals } = await readUndecided(ctx, queueOf(c), { ...query, upTo });
  return entries.length > 0
    ? confirm(c, { entries, marked: totals?.marked, decision, query, before })
    : redirectWith(
        c,
        addressOf('/time', query),
        hasAllMarks(queueOf(c))
          ? 'No unmarked entry is left to approve.'
          : `More than ${formatNumber(MAX_SORTED)} entries wait. Select what to approve.`,
        'warning',
      );
});

/** @throws PageProblem for more entries than one form can decide about */
function chosenIn(values: URLSearchParams): string[] {
  const ids = [...new Set(values.getAll('entry'))];
  if (ids.length <= MAX_ALL) return ids;
  const detail = `${countedEntries(ids.length)} are selected. Select at most ${formatNumber(MAX_ALL)}. Nothing was changed.`;
  throw new PageProblem(413, 'Too many entries', detail);
}

type Confirmation = Parameters<typeof ConfirmTime>[0];

/** Asks about those of the entries that still wait, and says why it does not about the others. */
async function offer(
  c: Context<AdminEnv>,
  ids: readonly string[],
  props: Omit<Confirmation, 'entries' | 'lost' | 'selected'>,
) {
  const ctx = adminContext(c);
  const { entries } = await readUndecided(ctx, queueOf(c), ids);
  const isOffered = new Set(entries.map(({ id }) => id));
  const others = ids.filter((id) => !isOffered.has(id));
  const found = await readEntries(ctx, others);
  const undecided = { found, missing: others.length - found.length };
  if (entries.length === 0) return refuse(c, { ...props, ...undecided, done: 0, sums: '' });
  const lost = undecidedText(undecided, pageContext(c).psa);
  return confirm(c, { ...props, entries, selected: ids, lost });
}

function confirm(c: Context<AdminEnv>, { entries, ...props }: Confirmation) {
  const title = `${DECISIONS[props.decision].verb} ${countedEntries(entries.length)}?`;
  const hasErrors = props.form !== undefined;
  const page = <ConfirmTime {...props} entries={shownEntries(c, entries, PAGE.shown)} />;
  return render(c, title, page, { status: hasErrors ? 400 : 200, hasErrors });
}

timeEntries.post('/time/decide', async (c) => {
  const ctx = adminContext(c);
  const values = await readForm(c);
  const decision = readDecision(values.get('decision'));
  const { before, upTo: _, entry: __, ...query } = timeQueryOf(values);
  const ids = chosenIn(values);
  if (!decision || ids.length === 0)
    return redirectWith(c, addressOf('/time', query), 'No entry was selected.', 'warning');
  const { data: reason } = decisionReason().safeParse(values.get('reason') ?? '');
  if (decision === 'REJECTED' && reason === undefined) {
    const messages = { reason: `Enter a reason of at most ${MAX_REASON_LENGTH} characters.` };
    return offer(c, ids, { decision, query, before, form: { values, messages } });
  }
  const { done, totals, others } = await decideTime(ctx, ids, decision, decision === 'REJECTED' ? reason : undefined);
  const sums = totalsText(decision === 'REJECTED' ? { ...totals, amountMinor: null } : totals);
  if (done.length < ids.length) {
    const missing = ids.length - done.length - others.length;
    return refuse(c, { found: others, missing, done: done.length, sums, decision, query });
  }
  return redirectWith(c, addressOf('/time', query), `${decidedText(done.length, decision)}: ${sums}`);
});

type Refusal = Undecided & { done: number; sums: string } & Pick<Confirmation, 'decision' | 'query'>;

/** Says what was decided, what was not, and why. */
function refuse(c: Context<AdminEnv>, { done, sums, decision, query, ...undecided }: Refusal) {
  const found = shownEntries(c, undecided.found, PAGE.shown);
  const why = undecidedText(undecided, pageContext(c).psa);
  const { word } = DECISIONS[decision];
  const all = done + found.length + undecided.missing;
  const title = done > 0 ? `${done} of ${decidedText(all, decision)}` : `Nothing was ${word}`;
  const page = (
    <UndecidedTime found={found} query={query}>
      {done > 0 && `${STATES[decision].word}: ${sums}. `}
      {why}
    </UndecidedTime>
  );
  return render(c, title, page, { status: 409 });
}

/** Rejected time has columns of its own, so that the sum of a column is never of both. */
const isRejected = ({ status }: Entry) => status === 'REJECTED';

const marksText = ({ longFrom, sameAs, dayMinutes }: Entry) =>
  [
    longFrom !== null && 'long',
    sameAs !== null && 'possible duplicate',
    dayMinutes !== null && `${dayMinutes} min that day`,
  ]
    .filter(Boolean)
    .join(', ') || null;

const COLUMNS: readonly Column<Entry>[] = [
  ['Work date', ({ workDate }) => workDate],
  ['Ticket', ({ ticketId }) => ticketId],
  ['Company', ({ company }) => company],
  ['Minutes', (entry) => (isRejected(entry) ? null : entry.minutes)],
  ['Billable', ({ billable }) => (billable === 1 ? 'yes' : 'no')],
  ['Hourly rate', ({ amountMinor, hourlyRateMinor }) => amountCell(amountMinor === null ? null : hourlyRateMinor)],
  ['Amount', (entry) => (isRejected(entry) ? null : amountCell(entry.amountMinor))],
  ['Rejected minutes', (entry) => (isRejected(entry) ? entry.minutes : null)],
  ['Rejected amount', (entry) => (isRejected(entry) ? amountCell(entry.amountMinor) : null)],
  ['Technician', ({ technician }) => technician],
  ['Own time', ({ isOwn }) => (isOwn ? 'own time' : null)],
  ['Status', ({ status }) => STATES[status].word],
  ['Marks', (entry) => marksText(entry)],
  ['Decided by', ({ decidedBy }) => decidedBy],
  { time: 'Decided', timeOf: ({ decidedAt }) => decidedAt },
  ['Reason', ({ reason }) => reason],
  ['Not in the PSA', ({ refusal, byHand }) => refusal ?? byHand],
  ['Key', ({ keyName, keyHint }) => `${keyName} (${keyHint})`],
  ['Record', ({ id }) => id],
  ['Text', ({ text }) => text],
];

function totalColumns(query: TimeQuery): readonly Column<TimeTotals['groups'][number]>[] {
  const headings = totalsHeadings(query);
  return [
    ['Company', ({ company }) => company],
    ['Technician', ({ technician }) => technician],
    [headings.count, ({ count }) => count],
    [headings.minutes, ({ minutes }) => minutes],
    [headings.amount, ({ amountMinor }) => amountCell(amountMinor)],
  ];
}

timeEntries.get('/time-totals.csv', validTime, (c) => {
  const query = c.req.valid('query');
  return csvDownload(c, {
    name: fileName(c, `time-totals-${query.state}`),
    columns: totalColumns(query),
    pages: totalsPage(c, query),
  });
});

/**
 * The totals of each company and technician. There is no row of a sum, which would double the sum of its column.
 * @throws PageProblem if there are too many entries for totals
 */
async function* totalsPage(c: Context<AdminEnv>, query: TimeQuery) {
  const { totals } = await readTime(adminContext(c), queueOf(c), query);
  const advice = 'Filter the time by dates, for example, and download its totals again.';
  if (!totals) throw new PageProblem(409, 'Too many entries', advice);
  yield { items: totals.groups, next: undefined };
}

timeEntries.get('/time.csv', validTime, (c) => {
  const query = c.req.valid('query');
  return csvDownload(c, { name: fileName(c, `time-${query.state}`), columns: COLUMNS, pages: filePages(c, query) });
});

async function* filePages(c: Context<AdminEnv>, query: TimeQuery) {
  for await (const { items, next } of exportTime(adminContext(c), queueOf(c), query))
    yield { items: shownEntries(c, items, FILE_PART.shown), next };
}
