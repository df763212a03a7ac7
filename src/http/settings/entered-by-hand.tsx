import { type Context, Hono } from 'hono';
import { dateText } from '../../domain/calendar.ts';
import { enterByHand, readTaken, type Taken } from '../../services/work/enter-by-hand.ts';
import {
  FILE_PART,
  goesToPsa,
  isRedacted,
  readEntries,
  type TimeQuery,
  timeQuery,
} from '../../services/work/time-queue.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { readForm } from './forms.ts';
import { addressOf, pageContext, redirectWith } from './page-context.ts';
import { counted } from './pages/components.tsx';
import { ConfirmEntered } from './pages/confirm-entered.tsx';
import { Time } from './pages/time.tsx';
import { Conflict } from './pages/undecided-time.tsx';
import { render } from './render-page.tsx';
import { shownEntries } from './shown-entries.ts';
import { validQuery } from './valid-query.ts';

/** Takes time off the list _Not in the PSA_ that an administrator has entered there by hand. */
export const enteredByHand = new Hono<AdminEnv>();

enteredByHand.get('/time/entered', validQuery(timeQuery), async (c) => {
  const { entry: id = '', upTo: _, ...query } = c.req.valid('query');
  const ctx = adminContext(c);
  const [entry] = shownEntries(c, await readEntries(ctx, [id], FILE_PART.characters), FILE_PART.shown);
  if (!entry || entry.refusal === null || !goesToPsa(entry)) return nothingToEnter(c, await readTaken(ctx, id), query);
  return render(
    c,
    isRedacted(entry) ? 'Text removed by hand?' : 'Entered by hand?',
    <ConfirmEntered entry={entry} query={query} />,
  );
});

enteredByHand.post('/time/entered', async (c) => {
  const values = await readForm(c);
  const {
    entry: id = '',
    upTo: _,
    ...query
  } = timeQuery.parse(Object.fromEntries([...values].filter(([, value]) => value !== '')));
  const ctx = adminContext(c);
  const isOfText = values.has('redacted');
  const { isDone, taken } = await enterByHand(ctx, id, isOfText ? 'Text removed by hand' : undefined);
  if (!isDone) return nothingToEnter(c, taken, query);
  const [entry] = await readEntries(ctx, [id], 0);
  const which =
    entry && `: ${counted(entry.minutes, 'minute')} on ticket ${entry.ticketId}, ${dateText(entry.workDate)}`;
  const done = isOfText ? 'Text marked as removed by hand' : 'Marked as entered by hand';
  return redirectWith(c, addressOf('/time', query), `${done}${which ?? ''}`);
});

/** Says why an entry is not in the list. */
function nothingToEnter(c: Context<AdminEnv>, taken: Taken, query: TimeQuery) {
  const { psa } = pageContext(c);
  const who = taken?.actorType === 'user' ? `${taken.by} has entered it by hand` : `${psa} has taken it`;
  const why = taken ? [who, ', ', <Time at={taken.at} />] : `The entry does not wait for ${psa}`;
  const title = taken ? 'Already in the PSA' : 'Nothing to enter';
  return render(c, title, <Conflict why={[why, '. Nothing was changed.']} query={query} />, { status: 409 });
}
