import { CallFailed, type Organization, type Service, takePeople, takeTickets, unwrap } from './directory.ts';
import { type Psa, PsaFault, type PsaRecord, recordOf, unlessGone } from './psa.ts';
import { type Sender, sender, type World } from './send.ts';
import { type QueuedChange, Store } from './store.ts';
import { NotSettled, PublicNote, redactRecord, type Target, writeRecord } from './writer.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** How often each job runs. */
const EVERY_MS = {
  report: MINUTE_MS,
  people: 15 * MINUTE_MS,
  tickets: 15 * SECOND_MS,
  reviews: 5 * MINUTE_MS,
  work: 10 * SECOND_MS,
};
type Job = keyof typeof EVERY_MS;
/** How often all tickets are read, to find those that are gone. */
const ALL_TICKETS_MS = 24 * HOUR_MS;
/** A list of changes may lack one that was being saved while it was read. */
const OVERLAP_MS = 5 * MINUTE_MS;
const [FIRST_BACKOFF_MS, LAST_BACKOFF_MS] = [5 * SECOND_MS, 10 * MINUTE_MS];
/** How long one record may fail while others are written. */
const ALONE_MS = HOUR_MS;
/** So many refusals in a row, on so many tickets, mean a wrong setting and not wrong records. */
const [MAX_REFUSALS, REFUSED_TICKETS] = [5, 3];
const TRIAL_MS = 15 * MINUTE_MS;
/** An adapter writes only if it has reported this recently. One that takes over waits until the other has noticed. */
const REPORTED_MS = 90 * SECOND_MS;
const TAKE_OVER_MS = 3 * MINUTE_MS;
/** What an order to resume forgets, in addition to the states of the jobs. */
const HALTS = ['stopped', 'paused', 'refusals', 'isTested', 'isErased', 'isElsewhere'];

export interface Settings {
  organization: Organization;
  /** The ticket of the connection test. */
  testTicket: string;
  /** Who decided on time, if the PSA does not say. */
  reviewer?: string | undefined;
  /** A new text resumes the adapter. */
  resume: string;
}

interface JobState {
  dueAt: number;
  /** When the last run that succeeded began. */
  ranAt?: number;
  attempts: number;
  failure?: string;
}

const backoffMs = (attempts: number) => Math.min(FIRST_BACKOFF_MS * 2 ** attempts, LAST_BACKOFF_MS);

/** Connects one organization with its PSA: `run` does whatever is due, one thing after the other. */
export class Adapter {
  private readonly store: Store;
  private readonly sender: Sender;
  private readonly service: Service;
  private readonly settings: Settings;
  private readonly psa: Psa;
  private readonly world: World;

  constructor(storage: DurableObjectStorage, service: Service, settings: Settings, psa: Psa, world: World) {
    this.store = new Store(storage);
    this.sender = sender(psa, world);
    this.service = service;
    this.settings = settings;
    this.psa = psa;
    this.world = world;
  }

  private get kv() {
    return this.store.kv;
  }

  /** Runs the jobs that are due. Returns when the next one is. */
  async run(): Promise<number> {
    const { kv, psa, service } = this;
    const { organization } = this.settings;
    const { send } = this.sender;
    this.obeyOrder();
    if (kv.get('isErased')) return this.world.now() + HOUR_MS;
    await this.report();
    if (kv.get('isElsewhere')) return this.stateOf('report').dueAt;
    await this.removePublicNotes();
    const mayShrink = kv.get('mayShrink') === true;
    await this.job('people', () => takePeople(service, organization, psa, send, mayShrink));
    await this.job('tickets', async (since) => {
      const now = this.world.now();
      const isAll = since === null || now >= (kv.get<number>('allTicketsAt') ?? 0) + ALL_TICKETS_MS;
      const times = { since: isAll ? null : since, now: this.psaTime(now) };
      await takeTickets(service, organization, psa, send, times, mayShrink);
      if (!isAll) return;
      kv.put('allTicketsAt', now);
      kv.delete('mayShrink');
    });
    if (psa.reviews) await this.job('reviews', (since) => this.takeReviews(since));
    await this.job('work', () => this.work());
    await this.removePublicNotes();
    await this.report();
    const jobs: Job[] = ['report', 'people', 'tickets', 'work', ...(psa.reviews ? (['reviews'] as const) : [])];
    return Math.min(...jobs.map((job) => this.stateOf(job).dueAt));
  }

  /** A new order resumes the adapter: what was refused is written again, after another connection test. */
  private obeyOrder(): void {
    const { kv } = this;
    const { resume } = this.settings;
    if (kv.get('id') === undefined) {
      kv.put('id', crypto.randomUUID());
      kv.put('order', resume);
      kv.put('lookBefore', this.world.now() + OVERLAP_MS);
    }
    if (kv.get('order') === resume) return;
    kv.put('order', resume);
    this.store.retryRefused(0);
    for (const key of [...HALTS, ...Object.keys(EVERY_MS)]) kv.delete(key);
    for (const key of ['mayTakeOver', 'mayShrink']) kv.put(key, true);
  }

  private stateOf(job: Job): JobState {
    return this.kv.get<JobState>(job) ?? { dueAt: 0, attempts: 0 };
  }

  /**
   * Runs a job if it is due, and never lets its failure stop another one. `since`: a time of the PSA's clock, a little
   * before the last run that succeeded began; null for none. The job may return when it is due again, in milliseconds.
   */
  private async job(job: Job, run: (since: Date | null) => Promise<unknown>): Promise<void> {
    const { kv, world } = this;
    const now = world.now();
    const { dueAt, ranAt } = this.stateOf(job);
    if (dueAt > now) return;
    try {
      const nextMs = await run(ranAt === undefined ? null : this.psaTime(ranAt - OVERLAP_MS));
      kv.put<JobState>(job, {
        dueAt: world.now() + (typeof nextMs === 'number' ? nextMs : EVERY_MS[job]),
        ranAt: now,
        attempts: 0,
      });
    } catch (err) {
      if (err instanceof CallFailed && err.code === 'organization_erased') this.erase();
      if (err instanceof PublicNote) this.stop(err.message);
      const { attempts } = this.stateOf(job);
      const failure = (err instanceof Error ? err.message : String(err)).slice(0, 300);
      const wantedMs = err instanceof PsaFault ? err.retryAfterMs : err instanceof NotSettled ? err.waitMs : 0;
      const state = { dueAt: world.now() + Math.max(backoffMs(attempts), wantedMs), attempts: attempts + 1, failure };
      kv.put<JobState>(job, { ...state, ...(ranAt !== undefined && { ranAt }) });
      console.warn(JSON.stringify({ event: 'adapter_failed', job, attempts: attempts + 1, failure }));
    } finally {
      const skewMs = this.sender.skewMs();
      if (skewMs !== undefined) kv.put('skewMs', skewMs);
    }
  }

  /** A time of our clock by the PSA's, which may be wrong. */
  private psaTime(at: number): Date {
    return new Date(at + (this.sender.skewMs() ?? this.kv.get<number>('skewMs') ?? 0));
  }

  private stop(reason: string): void {
    this.kv.put('stopped', reason);
    console.error(JSON.stringify({ event: 'adapter_stopped', reason }));
  }

  private erase(): void {
    this.stop('The organization was erased.');
    this.store.clear();
    this.kv.put('isErased', true);
  }

  /** Reports the connection every minute, and when its state changes. */
  private async report(): Promise<void> {
    const { kv, service, world } = this;
    const halt = kv.get<string>('stopped') ?? kv.get<{ reason: string }>('paused')?.reason;
    const failures = (['people', 'tickets', 'reviews', 'work'] as const).flatMap(
      (job) => this.stateOf(job).failure ?? [],
    );
    const reason = halt ?? failures[0];
    const failure = reason === undefined ? null : { reason, isStopped: halt !== undefined };
    if (kv.get('reported') !== JSON.stringify(failure)) kv.delete('report');
    await this.job('report', async () => {
      const id = kv.get<string>('id') ?? '';
      const result = await service.reportConnection(id, failure);
      // Its directory was not taken over yet.
      if (!result.ok && result.error.code === 'organization_not_found') return FIRST_BACKOFF_MS;
      const { status } = await unwrap(Promise.resolve(result));
      kv.put('isElsewhere', status === 'connected_elsewhere');
      if (status === 'connected_elsewhere' && kv.get('mayTakeOver')) {
        await unwrap(service.reportConnection(id, failure, true));
        kv.put('isElsewhere', false);
        kv.put('writesFrom', world.now() + TAKE_OVER_MS);
        kv.put('lookBefore', world.now() + TAKE_OVER_MS + OVERLAP_MS);
      } else if (status === 'connected_elsewhere') console.error(JSON.stringify({ event: 'adapter_elsewhere' }));
      kv.delete('mayTakeOver');
      kv.put('reported', JSON.stringify(failure));
      kv.put('reportedAt', world.now());
      return EVERY_MS.report;
    });
  }

  private async removePublicNotes(): Promise<void> {
    for (const { record, psaId } of this.store.publicNotes())
      try {
        await unlessGone(this.psa.remove(this.sender.send, record, psaId));
        this.store.forget(record.id);
      } catch (err) {
        console.error(JSON.stringify({ event: 'public_note_not_removed', psaId, failure: String(err) }));
      }
  }

  private async takeReviews(since: Date | null): Promise<void> {
    const { store, service, psa, world } = this;
    const dayAgo = this.psaTime(world.now() - ALL_TICKETS_MS);
    for (const review of (await psa.reviews?.(this.sender.send, since ?? dayAgo)) ?? []) {
      const id = store.timeEntry(review.psaId);
      const reviewer = review.reviewer ?? this.settings.reviewer;
      if (id !== undefined && reviewer !== undefined) store.putReview(id, review.decision, reviewer);
    }
    for (const { id, decision, reviewer } of store.reviews()) {
      const result = await service.review(id, decision, reviewer);
      // Kept until the reviewer is an administrator.
      if (!result.ok && result.error.code === 'reviewer_not_eligible') continue;
      if (!result.ok && !['already_reviewed', 'record_not_found'].includes(result.error.code))
        throw new CallFailed(result.error);
      store.doneReview(id);
    }
  }

  /** Writes changes until the tickets are due again. Returns in how many milliseconds there is more to do. */
  private async work(): Promise<number | undefined> {
    const { kv, store, world } = this;
    const start = world.now();
    const isReported = start - (kv.get<number>('reportedAt') ?? 0) <= REPORTED_MS;
    if (!isReported || start < (kv.get<number>('writesFrom') ?? 0) || kv.get('stopped') !== undefined) return undefined;
    await this.collect();
    if (!kv.get('isTested')) await this.testConnection();
    while (world.now() < start + EVERY_MS.tickets) {
      const change = store.next(world.now());
      if (!change) {
        await this.release();
        return undefined;
      }
      if (!(await this.take(change))) return TRIAL_MS;
    }
    return 0;
  }

  /** Stores the next changes of the feed. */
  private async collect(): Promise<void> {
    const { kv, store, service } = this;
    for (let more = true; more && store.canQueue; ) {
      const result = await service.changes(kv.get<string | null>('cursor') ?? null);
      if (!result.ok && result.error.code === 'cursor_reset') {
        kv.delete('cursor');
        continue;
      }
      const page = await unwrap(Promise.resolve(result));
      const changes = page.changes.flatMap((change) => {
        const [record, isRedaction] = [recordOf(change), change.action.endsWith('.redacted')];
        // After a reset of the cursor, the feed begins again.
        if (!record || (!isRedaction && store.find(record.id)?.state === 'written')) return [];
        return [{ seq: change.seq, record, isRedaction }];
      });
      store.queue(changes, page.cursor);
      ({ more } = page);
    }
  }

  /** What is written may be archived. */
  private async release(): Promise<void> {
    const cursor = this.kv.get<string | null>('cursor') ?? null;
    if (cursor === null || cursor === this.kv.get('released') || !this.store.isEmpty) return;
    await this.service.release(cursor);
    this.kv.put('released', cursor);
  }

  private get target(): Target {
    const { psa, store, world } = this;
    const { send } = this.sender;
    return { psa, send, store, now: world.now, lookBefore: this.kv.get<number>('lookBefore') ?? 0 };
  }

  /** Writes a note, reads it back and removes it. Until this has succeeded, no record is written. */
  private async testConnection(): Promise<void> {
    const { kv, store } = this;
    const { testTicket: ticketId } = this.settings;
    const { id, createdAt } = kv.get<{ id: string; createdAt: string }>('test') ?? {
      id: `test-${crypto.randomUUID()}`,
      createdAt: new Date(this.world.now()).toISOString(),
    };
    kv.put('test', { id, createdAt });
    const record: PsaRecord = { kind: 'note', id, ticketId, createdAt, text: 'Connection test', mark: `[twb:${id}]` };
    try {
      await writeRecord(this.target, record);
      const psaId = store.find(id)?.psa_id;
      if (psaId) await unlessGone(this.psa.remove(this.sender.send, record, psaId));
    } catch (err) {
      if (!(err instanceof PsaFault)) throw err;
      const { outcome, message, status, retryAfterMs } = err;
      throw new PsaFault(outcome, `The connection test on ticket ${ticketId} failed: ${message}`, {
        status,
        retryAfterMs,
      });
    }
    store.forget(id);
    kv.delete('test');
    kv.put('isTested', true);
  }

  /** Writes a change. Returns whether others may follow immediately. */
  private async take(change: QueuedChange): Promise<boolean> {
    const { kv, store, world } = this;
    const record: PsaRecord = JSON.parse(change.record);
    try {
      await (change.is_redaction ? redactRecord : writeRecord)(this.target, record);
    } catch (err) {
      if (err instanceof NotSettled) store.postpone(change, world.now() + err.waitMs, world.now());
      else if (err instanceof PsaFault) return this.afterFault(change, record, err);
      else throw err;
      return true;
    }
    if (change.is_reported) await unwrap(this.service.report(record.kind, record.id, 'taken'));
    store.done(change.seq);
    kv.put('writtenAt', world.now());
    kv.put<JobState>('work', { ...this.stateOf('work'), attempts: 0 });
    kv.delete('refusals');
    const paused = kv.get<{ since: number }>('paused');
    if (!paused) return true;
    kv.delete('paused');
    store.retryRefused(paused.since);
    return true;
  }

  /** @throws PsaFault if the change is tried again: the connection may be broken, so all others wait too */
  private async afterFault(change: QueuedChange, record: PsaRecord, fault: PsaFault): Promise<boolean> {
    const { kv, store, world } = this;
    const now = world.now();
    if (fault.outcome === 'refused') {
      if (kv.get('paused')) {
        store.postpone(change, now + TRIAL_MS, now);
        return false;
      }
      await this.refuse(change, record, fault.message);
      return fault.isAboutTicket || !this.countRefusal(record.ticketId, fault.message);
    }
    const { failing_since: since } = change;
    const isAlone = since !== null && now - since >= ALONE_MS && (kv.get<number>('writtenAt') ?? 0) > since;
    const isUnread = store.find(record.id)?.psa_id != null && store.find(record.id)?.state === 'begun';
    if (isAlone && !isUnread) await this.refuse(change, record, `It failed for an hour: ${fault.message}`);
    else store.postpone(change, now + Math.max(backoffMs(change.attempts), fault.retryAfterMs), now);
    throw fault;
  }

  private async refuse({ seq }: QueuedChange, { kind, id }: PsaRecord, reason: string): Promise<void> {
    await unwrap(this.service.report(kind, id, 'refused', reason.slice(0, 500)));
    this.store.refuse(seq, this.world.now());
  }

  /** Returns whether there are now so many that the adapter pauses. */
  private countRefusal(ticket: string, message: string): boolean {
    const { kv, world } = this;
    const refusals = [...(kv.get<{ ticket: string; at: number }[]>('refusals') ?? []), { ticket, at: world.now() }];
    kv.put('refusals', refusals);
    if (refusals.length < MAX_REFUSALS || new Set(refusals.map((one) => one.ticket)).size < REFUSED_TICKETS)
      return false;
    const reason = `The PSA refuses every record, so only one is tried every 15 minutes. The last one: ${message}`;
    kv.put('paused', { since: refusals[0]?.at ?? 0, reason: reason.slice(0, 300) });
    console.error(JSON.stringify({ event: 'adapter_paused', reason }));
    return true;
  }
}
