import { type Context, Hono } from 'hono';
import { decisionReason, MAX_REASON_LENGTH } from '../../domain/decision-reason.ts';
import { fromMinorUnits } from '../../domain/money.ts';
import { APPROVAL_DECISIONS, type ApprovalDecision } from '../../domain/record-kinds.ts';
import {
  decideTime,
  type Entry,
  exportTime,
  FILE_PART,
  MAX_DECIDED,
  PAGE,
  readEntries,
  readTime,
  readUndecided,
  type TimeQuery,
  timeQuery,
} from '../../services/work/time-queue.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { type Column, csvDownload, fileName } from './download.ts';
import { readForm } from './forms.ts';
import { addressOf, pageContext, redirectWith } from './page-context.ts';
import { PageProblem } from './page-problem.ts';
import { CsvLink } from './pages/components.tsx';
import { utcText } from './pages/time.tsx';
import { ConfirmTime, countedEntries, DECISIONS, decidedText, TimePage } from './pages/time-entries.tsx';
import { render } from './render-page.tsx';
import { shownEntries } from './shown-entries.ts';

export const timeEntries = new Hono<AdminEnv>();

const parametersOf = (c: Context<AdminEnv>) => new URL(c.req.url).searchParams;
const listPath = (c: Context<AdminEnv>, query: TimeQuery) => addressOf(`${pageContext(c).base}/time`, query);

/** The filter in the parameters of an address or a form. Empty and invalid ones are ignored. */
const readQuery = (parameters: URLSearchParams): TimeQuery =>
  timeQuery.parse(Object.fromEntries([...parameters].filter(([, value]) => value !== '')));

const readDecision = (text: string | null) => APPROVAL_DECISIONS.find((decision) => decision === text);

timeEntries.get('/time', async (c) => {
  const query = readQuery(parametersOf(c));
  const found = await readTime(adminContext(c), query);
  const page = <TimePage {...found} entries={shownEntries(c, found.entries, PAGE.shown)} query={query} />;
  return render(c, 'Time', page, {
    lead: <p class="minor">Time that keys logged. It becomes billable when it is approved.</p>,
    actions: <CsvLink to={addressOf(`${pageContext(c).base}/time.csv`, { ...query, before: undefined })} />,
  });
});

timeEntries.get('/time/decide', async (c) => {
  const parameters = parametersOf(c);
  const { upTo, ...query } = readQuery(parameters);
  const all = readDecision(parameters.get('all'));
  const decision = all ?? readDecision(parameters.get('selected'));
  const ctx = adminContext(c);
  const entries = await readUndecided(ctx, all ? { ...query, upTo } : parameters.getAll('entry'));
  if (!decision || entries.length === 0) return c.redirect(listPath(c, query), 303);
  return confirm(c, { entries, decision, query });
});

function confirm(c: Context<AdminEnv>, { entries, ...props }: Parameters<typeof ConfirmTime>[0]) {
  const title = `${DECISIONS[props.decision].verb} ${countedEntries(entries.length)}?`;
  const hasErrors = props.form !== undefined;
  const page = <ConfirmTime {...props} entries={shownEntries(c, entries, PAGE.shown)} />;
  return render(c, title, page, { status: hasErrors ? 400 : 200, hasErrors });
}

timeEntries.post('/time/decide', async (c) => {
  const ctx = adminContext(c);
  const values = await readForm(c);
  const decision = readDecision(values.get('decision'));
  const { before, ...query } = readQuery(values);
  const ids = [...new Set(values.getAll('entry'))];
  if (!decision || ids.length === 0) return c.redirect(listPath(c, query), 303);
  const { data: reason } = decisionReason().safeParse(values.get('reason') ?? '');
  if (decision === 'REJECTED' && reason === undefined) {
    const messages = { reason: `Enter a reason of at most ${MAX_REASON_LENGTH} characters.` };
    return confirm(c, { entries: await readEntries(ctx, ids), decision, query, form: { values, messages } });
  }
  const result = await decideTime(ctx, ids, decision, decision === 'REJECTED' ? reason : undefined);
  if (result.done.length < result.confirmed.length) throw partlyDecided(result, decision);
  const rest = (await readEntries(ctx, ids.slice(MAX_DECIDED))).filter(({ status }) => status === 'SUBMITTED');
  const done = decidedText(result.done.length, decision);
  return rest.length === 0
    ? redirectWith(c, addressOf('/time', query), done)
    : confirm(c, { entries: rest, decision, query, done });
});

function partlyDecided(
  { confirmed, done, failed, others, cause }: Awaited<ReturnType<typeof decideTime>>,
  decision: ApprovalDecision,
): PageProblem {
  const title = `${done.length} of ${decidedText(confirmed.length, decision)}`;
  const before = others.filter(({ status }) => status !== 'SUBMITTED');
  const details = [
    failed.length > 0 &&
      `${countedEntries(failed.length)} may still wait, because an error ended the request. Decide about them again.`,
    before.length > 0 &&
      `${countedEntries(before.length)} had been decided before, such as ${before.slice(0, 3).map(decisionText).join('; ')}.`,
    before.length < others.length && 'The PSA decides about the others.',
  ];
  return new PageProblem(failed.length > 0 ? 503 : 409, title, details.filter(Boolean).join(' '), cause);
}

const decisionText = ({ ticketId, minutes, status, decidedBy, decidedAt }: Entry) =>
  `${minutes} min on ticket ${ticketId}, ${status}${decidedAt === null ? '' : ` by ${decidedBy}, ${utcText(decidedAt)}`}`;

const COLUMNS: readonly Column<Entry>[] = [
  ['Work date', ({ workDate }) => workDate],
  ['Ticket', ({ ticketId }) => ticketId],
  ['Company', ({ company }) => company],
  ['Minutes', ({ minutes }) => minutes],
  ['Billable', ({ billable }) => (billable === 1 ? 'yes' : 'no')],
  ['Hourly rate', ({ hourlyRateMinor }) => fromMinorUnits(hourlyRateMinor)],
  ['Amount', ({ amountMinor }) => fromMinorUnits(amountMinor)],
  ['Technician', ({ technician }) => technician],
  ['Own time', ({ isOwn }) => (isOwn ? 'own time' : null)],
  ['Status', ({ status }) => status],
  ['Decided by', ({ decidedBy }) => decidedBy],
  { time: 'Decided', timeOf: ({ decidedAt }) => decidedAt },
  ['Reason', ({ reason }) => reason],
  ['Key', ({ keyName, keyHint }) => `${keyName} (${keyHint})`],
  ['Record', ({ id }) => id],
  ['Text', ({ text }) => text],
];

timeEntries.get('/time.csv', (c) => {
  const query = readQuery(parametersOf(c));
  return csvDownload(c, { name: fileName(c, `time-${query.state}`), columns: COLUMNS, pages: filePages(c, query) });
});

async function* filePages(c: Context<AdminEnv>, query: TimeQuery) {
  for await (const { items, next } of exportTime(adminContext(c), query))
    yield { items: shownEntries(c, items, FILE_PART.shown), next };
}
