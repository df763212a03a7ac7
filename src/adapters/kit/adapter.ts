import { keysOf } from '../../lib/objects.ts';
import { type Context, type Service, unwrap } from './context.ts';
import { takeAllTickets, takeOver, takePeople } from './directory.ts';
import { type Psa, PsaFault } from './psa.ts';
import { sender, type World } from './send.ts';
import type { Settings } from './settings.ts';
import { backoffMs, CREDITED, deleteAll, type JobState, OVERLAP_MS, retryRefused, stateOf } from './store.ts';
import { isTimeTestDue, RefusedTest, testTime } from './time-test.ts';
import { failureIn, lastWriteIn, mayWrite, pauseIn, work } from './work.ts';
import { PublicNote, removePublicNote } from './writer.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** How often each job runs. All tickets are read to find those that are gone. */
const EVERY_MS = {
  people: 15 * MINUTE_MS,
  allTickets: DAY_MS,
  tickets: 5 * SECOND_MS,
  reviews: 5 * MINUTE_MS,
  work: 10 * SECOND_MS,
  'timeTest/service': 0,
  'timeTest/technician': 0,
  /** Before and after the work. */
  removal: 0,
};
type Job = keyof typeof EVERY_MS;
const JOBS = keysOf(EVERY_MS);
/** An adapter that takes the place of another waits until the other has noticed. */
const TAKE_OVER_MS = 3 * MINUTE_MS;
/** What the service answers about an entry that the PSA no longer decides. */
const DECIDED = ['already_reviewed', 'approved_in_settings', 'record_not_found'];
/** What an order to resume forgets, in addition to the states of the jobs. */
const HALTS = ['stopped', 'tested', 'isErased', 'isElsewhere'];

export function contextOf(kv: SyncKvStorage, service: Service, settings: Settings, psa: Psa, world: World): Context {
  const send = sender(psa, world, (skewMs) => kv.put('skewMs', skewMs));
  return { kv, service, settings, psa, send, world, servedAt: new Map() };
}

/** Connects one organization with its PSA: does whatever is due, one thing after the other. Returns whether more is due. */
export async function run(ctx: Context): Promise<boolean> {
  const { kv, psa, send, world } = ctx;
  obeyOrder(ctx);
  if (kv.get('isErased')) return false;
  if (kv.get('public')) await runJob(ctx, 'removal', () => removePublicNote(ctx));
  await report(ctx);
  if (kv.get('isElsewhere')) return false;
  await runJob(ctx, 'people', () => takePeople(ctx));
  await runJob(ctx, 'tickets', (since) =>
    takeOver(ctx, psa.tickets(send, since, psaTime(ctx, world.now())), ctx.ticketList?.found),
  );
  await runJob(ctx, 'reviews', (since) => takeReviews(ctx, since));
  await runJob(ctx, 'work', () => work(ctx));
  for (const credited of CREDITED)
    if (mayWrite(ctx) && isTimeTestDue(kv, credited))
      await runJob(ctx, `timeTest/${credited}`, () => testTime(ctx, credited));
  // After the others: it is read in steps.
  await runJob(ctx, 'allTickets', () => takeAllTickets(ctx, psaTime(ctx, world.now())));
  if (kv.get('public')) await runJob(ctx, 'removal', () => removePublicNote(ctx));
  await report(ctx);
  return (['work', 'allTickets'] as const).some((job) => stateOf(kv, job).dueAt <= world.now());
}

/** A new order resumes the adapter: what was refused is written again, after another connection test. */
function obeyOrder({ kv, settings, world }: Context): void {
  const { RESUME: order } = settings;
  if (kv.get('order') === undefined) {
    kv.put('id', crypto.randomUUID());
    kv.put('order', order);
    kv.put('lookBefore', world.now() + OVERLAP_MS);
  }
  if (kv.get('order') === order) return;
  kv.put('order', order);
  retryRefused(kv, world.now(), 0);
  for (const prefix of ['stream/', 'failure/', 'timeTested/', 'timeToTest/']) deleteAll(kv, prefix);
  kv.put('mayTakeOver', kv.get('isElsewhere') === true);
  kv.put('mayShrink', true);
  for (const key of HALTS) kv.delete(key);
  for (const job of JOBS) kv.put<JobState>(job, { from: stateOf(kv, job).from, dueAt: 0, attempts: 0 });
}

/**
 * Runs a job if it is due, and never lets its failure stop another one. `since`: a time of the PSA's clock, a little
 * before the last run that succeeded began. The job may return in how many milliseconds it is due again. A job that is
 * `unfinished` stays due, and its earlier failure counts on.
 * @throws Error if the organization was erased: then nothing of it stays here
 */
async function runJob(ctx: Context, job: Job, start: (since: Date) => Promise<unknown>): Promise<void> {
  const { kv, world } = ctx;
  const now = world.now();
  const { dueAt, from = now - DAY_MS, attempts }: JobState = stateOf(kv, job);
  if (dueAt > now) return;
  try {
    const result = await start(psaTime(ctx, from));
    if (result === 'unfinished') return;
    const nextAt = world.now() + (typeof result === 'number' ? result : EVERY_MS[job]);
    kv.put<JobState>(job, { dueAt: nextAt, from: now - OVERLAP_MS, attempts: 0 });
  } catch (err) {
    const { message, cause } = err instanceof Error ? err : new Error(String(err));
    if (cause === 'organization_erased') {
      for (const [key] of Array.from(kv.list())) kv.delete(key);
      kv.put('isErased', true);
      throw err;
    }
    if (err instanceof PublicNote) kv.put('stopped', message);
    const failure = message.slice(0, 300);
    // A record that was written begins a new series, and another record is tested after a refused test.
    const failed = lastWriteIn(kv) >= now || err instanceof RefusedTest ? 0 : attempts;
    const waitMs = Math.max(backoffMs(failed), err instanceof PsaFault ? err.retryAfterMs : 0);
    kv.put<JobState>(job, { dueAt: world.now() + waitMs, from, attempts: failed + 1, failure });
    console.warn(JSON.stringify({ event: 'adapter_failed', job, attempts: failed + 1, failure }));
  }
}

/** A time of our clock by the PSA's, which may be wrong. */
const psaTime = ({ kv }: Context, at: number) => new Date(at + (kv.get<number>('skewMs') ?? 0));

/** Reports the connection every minute, and when its state changes. */
async function report({ kv, service, psa, world }: Context): Promise<void> {
  const stopped = kv.get<string>('stopped');
  const reason = JOBS.flatMap((job) => stateOf(kv, job).failure ?? [])[0] ?? failureIn(kv);
  const found =
    stopped === undefined
      ? (pauseIn(kv) ?? (reason === undefined ? null : { reason, isStopped: false }))
      : { reason: stopped, isStopped: true };
  // The service refuses half a character.
  const failure = found && { ...found, reason: found.reason.slice(0, 300).toWellFormed() };
  const isSame = kv.get('reported') === JSON.stringify(failure);
  const now = world.now();
  if (isSame && now < (kv.get<number>('reportedAt') ?? 0) + MINUTE_MS) return;
  const takesOver = kv.get<boolean>('mayTakeOver') ?? false;
  const result = await service.reportConnection(kv.get<string>('id') ?? '', failure, takesOver, psa.name);
  // Its directory was not taken over yet.
  if (!result.ok && result.error.code === 'organization_not_found') return;
  const isElsewhere = unwrap(result).status === 'connected_elsewhere';
  if (isElsewhere) console.error(JSON.stringify({ event: 'adapter_elsewhere' }));
  if (takesOver) {
    kv.put('writesFrom', world.now() + TAKE_OVER_MS);
    kv.put('lookBefore', world.now() + TAKE_OVER_MS + OVERLAP_MS);
    kv.delete('mayTakeOver');
  }
  kv.put('isElsewhere', isElsewhere);
  kv.put('reported', JSON.stringify(failure));
  // Not when the result came: another adapter may have taken over meanwhile.
  kv.put('reportedAt', now);
}

/** Takes decisions on time over, while any entry waits for one of the PSA. */
async function takeReviews({ kv, service, psa, send }: Context, since: Date): Promise<void> {
  if (!psa.reviews || Array.from(kv.list({ prefix: 'entry/', limit: 1 })).length === 0) return;
  for (const { psaId, decision, reviewer } of await psa.reviews(send, since)) {
    const id = kv.get<string>(`entry/${psaId}`);
    if (id === undefined) continue;
    const result = await service.review(id, decision, reviewer, psa.name);
    if (!result.ok && !DECIDED.includes(result.error.code)) unwrap(result);
    kv.delete(`entry/${psaId}`);
  }
}
