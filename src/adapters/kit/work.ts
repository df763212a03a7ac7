import type { Change } from '../../domain/psa-shapes.ts';
import { testConnection } from './connection-test.ts';
import { type Context, unwrap } from './context.ts';
import { isForPsa, PsaFault, recordOf, waitsForPsa } from './psa.ts';
import { nextIn, type Pending, pendingIn, retryRefused, save, type Written, waitingIn } from './store.ts';
import { writeRecord } from './writer.ts';

const MINUTE_MS = 60_000;
/** As long as tickets may wait to be read. */
const TURN_MS = 5_000;
/** The limit is for the texts that are stored here. */
const MAX_WAITING = 100;
/** How long one record may fail while others are written. */
const ALONE_MS = 60 * MINUTE_MS;
/** So many refusals in a row, on so many tickets, mean a wrong setting and not wrong records. */
const [MAX_REFUSALS, REFUSED_TICKETS] = [5, 3];
/** Such as a ticket that was deleted or merged: that says nothing about our settings. */
const ABOUT_TICKET = [404, 409, 410];
const TRIAL_MS = 15 * MINUTE_MS;
/** How long a record that the PSA refused can be written again: as long as its refusal needs attention. */
const REFUSED_MS = 30 * 24 * 60 * MINUTE_MS;
/** An adapter writes only if it has reported this recently. */
const REPORTED_MS = 90_000;

const [FIRST_BACKOFF_MS, LAST_BACKOFF_MS] = [5_000, 10 * MINUTE_MS];
export const backoffMs = (attempts: number) => Math.min(FIRST_BACKOFF_MS * 2 ** attempts, LAST_BACKOFF_MS);

/** Writes changes until the tickets are due again. Returns in how many milliseconds there is more to do. */
export async function work(ctx: Context): Promise<number | undefined> {
  const { kv, world } = ctx;
  const start = world.now();
  const isReported = start - (kv.get<number>('reportedAt') ?? 0) <= REPORTED_MS;
  const isHalted = kv.get('stopped') !== undefined || kv.get('public') !== undefined;
  if (!isReported || isHalted || start < (kv.get<number>('writesFrom') ?? 0)) return undefined;
  await collect(ctx);
  await testConnection(ctx);
  while (world.now() < start + TURN_MS) {
    const pending = nextIn(kv, world.now());
    if (!pending) return undefined;
    await writeRecord(ctx, pending).then(
      () => afterWrite(ctx, pending),
      (err: unknown) => afterFailure(ctx, pending, err),
    );
  }
  return 0;
}

/** Stores the next changes of the feed. After a reset of the cursor, the feed begins again. */
async function collect({ service, kv }: Context): Promise<void> {
  for (let more = true; more && waitingIn(kv).length < MAX_WAITING; ) {
    const result = await service.changes(kv.get<string | null>('cursor') ?? null);
    if (!result.ok && result.error.code === 'cursor_reset') {
      kv.delete('cursor');
      continue;
    }
    const page = unwrap(result);
    for (const change of page.changes) collectChange(kv, change);
    kv.put('cursor', page.cursor);
    ({ more } = page);
  }
}

function collectChange(kv: SyncKvStorage, change: Change): void {
  const record = recordOf(change);
  if (!record) return;
  const written = kv.get<Written>(`written/${record.id}`);
  const known = kv.get<Pending>(`pending/${record.id}`);
  const isRedaction = change.action.endsWith('.redacted');
  const mayCreate = isForPsa(change) && (!isRedaction || known?.mayCreate === true);
  // The PSA is not asked for the decision any longer.
  if (written?.psaId !== undefined && !waitsForPsa(change)) kv.delete(`entry/${written.psaId}`);
  const { seq } = change;
  const pending = { dueAt: 0, attempts: 0, seq, ...known, record, mayCreate };
  if (isRedaction || known?.isRedaction) save(kv, { ...pending, isRedaction: true });
  // A record that was not read back is read back first, even if its decider has changed.
  else if (mayCreate ? !written?.isRead : kv.get('unread') === record.id) save(kv, { ...pending, isRedaction: false });
  // The PSA leaves the decision to the settings area before it has taken the entry.
  else if (!mayCreate) kv.delete(`pending/${record.id}`);
}

async function afterWrite({ service, kv, world }: Context, { record }: Pending): Promise<void> {
  if (kv.get(`reported/${record.id}`) !== undefined) {
    unwrap(await service.report(record.kind, record.id, 'taken'));
    kv.delete(`reported/${record.id}`);
  }
  kv.delete(`pending/${record.id}`);
  kv.put('writtenAt', world.now());
  if (reasonOfPause(kv) !== undefined) retryRefused(kv, refusalsIn(kv)[0]?.at ?? 0);
  kv.delete('refusals');
}

/** @throws PsaFault if others have to wait too: the connection may be broken */
async function afterFailure(ctx: Context, pending: Pending, err: unknown): Promise<void> {
  if (!(err instanceof PsaFault)) throw err;
  const { kv, world } = ctx;
  const now = world.now();
  const { record, attempts, failingSince = now } = pending;
  const isRefused = err.outcome === 'refused';
  // Others were written since it fails. A note that was not read back is never set aside.
  const isAlone = now - failingSince >= ALONE_MS && (kv.get<number>('writtenAt') ?? 0) > failingSince;
  if (isRefused && reasonOfPause(kv) === undefined) await refuse(ctx, pending, err.message);
  else if (!isRefused && isAlone && kv.get('unread') === undefined)
    await refuse(ctx, pending, `It failed for an hour: ${err.message}`);
  else {
    const { settledAt = 0 } = kv.get<Written>(`written/${record.id}`) ?? {};
    const dueAt = Math.max(now + backoffMs(attempts), now + err.retryAfterMs, settledAt);
    save(kv, { ...pending, dueAt, failingSince, attempts: attempts + 1 });
  }
  if (!isRefused) throw err;
  if (ABOUT_TICKET.includes(err.status)) return;
  kv.put('refusals', [...refusalsIn(kv), { ticketId: record.ticketId, at: now, message: err.message }]);
  const reason = reasonOfPause(kv);
  if (reason !== undefined) throw new PsaFault('later', reason, { retryAfterMs: TRIAL_MS });
}

/** Reports that the PSA does not take a record, and sets it aside. */
async function refuse({ service, kv, world }: Context, pending: Pending, reason: string): Promise<void> {
  const now = world.now();
  unwrap(await service.report(pending.record.kind, pending.record.id, 'refused', reason.slice(0, 500)));
  kv.put(`reported/${pending.record.id}`, now);
  save(kv, { ...pending, refusedAt: now });
  for (const { record, refusedAt = now } of pendingIn(kv))
    if (refusedAt < now - REFUSED_MS) kv.delete(`pending/${record.id}`);
  const isPending = new Set(pendingIn(kv).map(({ record }) => `reported/${record.id}`));
  for (const [key, at] of Array.from(kv.list<number>({ prefix: 'reported/' })))
    if (at < now - REFUSED_MS && !isPending.has(key)) kv.delete(key);
}

/** Refusals in a row that are not about the ticket. */
const refusalsIn = (kv: SyncKvStorage) => kv.get<{ ticketId: string; at: number; message: string }[]>('refusals') ?? [];

/** Why only one record is tried every 15 minutes; undefined if the adapter is not paused. */
export function reasonOfPause(kv: SyncKvStorage): string | undefined {
  const refusals = refusalsIn(kv);
  const tickets = new Set(refusals.map(({ ticketId }) => ticketId));
  if (refusals.length < MAX_REFUSALS || tickets.size < REFUSED_TICKETS) return undefined;
  const reason = `The PSA refuses every record, so only one is tried every 15 minutes. The last one: ${refusals.at(-1)?.message}`;
  return reason.slice(0, 300);
}
