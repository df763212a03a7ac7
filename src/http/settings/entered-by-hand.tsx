import { type Context, Hono } from 'hono';
import { dateText } from '../../domain/calendar.ts';
import { ONE, type TimeQuery } from '../../domain/time-query.ts';
import { enterByHand, readTaken } from '../../services/work/enter-by-hand.ts';
import { goesToPsa, isRedacted, readEntries } from '../../services/work/time-queue.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { readForm } from './forms.ts';
import { addressOf, pageContext, redirectWith } from './page-context.ts';
import { Banner, counted } from './pages/components.tsx';
import { ConfirmEntered } from './pages/confirm-entered.tsx';
import { Time } from './pages/time.tsx';
import { Conflict } from './pages/undecided-time.tsx';
import { render } from './render-page.tsx';
import { shownEntries } from './shown-entries.ts';
import { timeQueryOf, validTime } from './time-query.ts';

/** Takes time off the list _Not in the PSA_ that an administrator has entered there by hand. */
export const enteredByHand = new Hono<AdminEnv>();

enteredByHand.get('/time/entered', validTime, (c) => {
  const { entry = '', upTo: _, ...query } = c.req.valid('query');
  return ask(c, entry, query);
});

/** Asks whether the administrator has done so; after a redaction in the meantime again, with another question. */
async function ask(c: Context<AdminEnv>, id: string, query: TimeQuery, isRedactedNow = false) {
  const ctx = adminContext(c);
  const [entry] = shownEntries(c, await readEntries(ctx, [id], ONE.characters), ONE.shown);
  if (!entry || entry.refusal === null || !goesToPsa(entry)) return nothingToEnter(c, id, query);
  const title = isRedacted(entry) ? 'Text removed by hand?' : 'Entered by hand?';
  const page = (
    <>
      {isRedactedNow && (
        <Banner tone="warning">The text was redacted after you opened the form. Nothing was changed.</Banner>
      )}
      <ConfirmEntered entry={entry} query={query} />
    </>
  );
  return render(c, title, page, { status: isRedactedNow ? 409 : 200 });
}

enteredByHand.post('/time/entered', async (c) => {
  const values = await readForm(c);
  const { entry: id = '', upTo: _, ...query } = timeQueryOf(values);
  const ctx = adminContext(c);
  const isOfText = values.has('redacted');
  if (!(await enterByHand(ctx, id, isOfText))) return ask(c, id, query, true);
  const [entry] = await readEntries(ctx, [id], 0);
  const which =
    entry && `: ${counted(entry.minutes, 'minute')} on ticket ${entry.ticketId}, ${dateText(entry.workDate)}`;
  const done = isOfText ? 'Text marked as removed by hand' : 'Marked as entered by hand';
  return redirectWith(c, addressOf('/time', query), `${done}${which ?? ''}`);
});

/** Says why an entry is not in the list. */
async function nothingToEnter(c: Context<AdminEnv>, id: string, query: TimeQuery) {
  const taken = await readTaken(adminContext(c), id);
  const { psa } = pageContext(c);
  const who = taken?.actorType === 'user' ? `${taken.by} has entered it by hand` : `${psa} has taken it`;
  const why = taken ? [who, ', ', <Time at={taken.at} />] : `The entry does not wait for ${psa}`;
  const title = taken ? 'Already in the PSA' : 'Nothing to enter';
  return render(c, title, <Conflict why={[why, '. Nothing was changed.']} query={query} />, { status: 409 });
}
