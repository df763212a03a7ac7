import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkArchive } from '../../../src/modules/archive/check-archive.ts';
import { redactRecord } from '../../../src/services/work/redact-record.ts';
import {
  archive,
  archiveContext,
  everyChange,
  failing,
  failingBatch,
  objectsIn,
  releaseAll,
} from '../../support/archive.ts';
import { Tally } from '../../support/hostile.ts';
import { inLongRuns, runs } from '../../support/property.ts';
import { lastCursor, resultOf, work } from '../../support/rpc.ts';
import { makeWorld, rowsOf, TIME } from '../../support/world.ts';

// Random sequences of everything that happens to records, with steps of the archive that end early.
// A model has the records that were acknowledged; after each event the database and the archive
// together must have the same.

type Kind = 'note' | 'time_entry';

interface Record {
  kind: Kind;
  key: string;
  text: string;
  id: string;
  /** The response to its replay. */
  body: string;
  isRedacted: boolean;
}

/** The ways in which a step can end early. */
const STOPS = {
  none: {},
  'before put': { archive: failing((call) => (call === 'put' ? 'before' : undefined)) },
  'after put': { archive: failing((call) => (call === 'put' ? 'after' : undefined)) },
  'before batch': { db: failingBatch('before') },
  'after batch': { db: failingBatch('after') },
  'before delete': { archive: failing((call) => (call === 'delete' ? 'before' : undefined)) },
};
type Stop = keyof typeof STOPS;

const which = fc.nat(1_000);
const kind = fc.constantFrom<Kind>('note', 'time_entry');
const stop = fc.constantFrom(...(['none', ...Object.keys(STOPS)] as Stop[]));
const event = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('write' as const), kind }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('replay' as const), which, isSame: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('review' as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('redact' as const), which, stop }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('release' as const), which }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('archive' as const), stop }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('race' as const) }) },
);
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

const pick = <T>(list: readonly T[], at: number): T | undefined => list[at % Math.max(1, list.length)];
const isUnavailable = { code: 'unavailable' };

class World {
  readonly records: Record[] = [];
  private readonly made: Awaited<ReturnType<typeof makeWorld>>;
  private number = 0;
  /** How many calls ended early. */
  private ended = 0;
  constructor(made: Awaited<ReturnType<typeof makeWorld>>) {
    this.made = made;
  }

  get organization() {
    return this.made.organization;
  }

  async run(one: Event): Promise<string> {
    switch (one.do) {
      case 'write':
        return this.write(one.kind);
      case 'replay':
        return this.replay(pick(this.records, one.which), one.isSame);
      case 'review':
        return this.review(pick(this.records, one.which));
      case 'redact':
        return this.redact(pick(this.records, one.which), one.stop);
      case 'release':
        return this.release(one.which);
      case 'archive':
        return this.archive(one.stop);
      case 'race': {
        const steps = await Promise.all([archive(this.organization), archive(this.organization)]);
        return steps.map(({ status }) => status).join(' and ');
      }
    }
  }

  private send(kind: Kind, key: string, text: string): Promise<Response> {
    const headers = { 'Idempotency-Key': key };
    const { api, key: value } = this.made;
    return kind === 'note'
      ? api.postNote(value, { message: text }, headers)
      : api.postTime(value, { ...TIME, description: text }, headers);
  }

  async write(kind: Kind): Promise<string> {
    const key = `k${++this.number}`;
    const text = `text-${crypto.randomUUID()}`;
    const response = await this.send(kind, key, text);
    expect(response.status).toBe(201);
    const body = await response.text();
    const id = /"id":"([^"]+)"/.exec(body)?.[1] ?? '';
    this.records.push({ kind, key, text, id, body, isRedacted: false });
    return 'written';
  }

  private async replay(record: Record | undefined, isSame: boolean): Promise<string> {
    if (!record) return 'nothing';
    const response = await this.send(record.kind, record.key, isSame ? record.text : 'another text');
    const mismatch = response.headers.get('Idempotency-Mismatch');
    expect([response.status, mismatch]).toEqual([200, isSame || record.isRedacted ? null : 'true']);
    const replayed = JSON.parse(await response.text());
    const first = JSON.parse(record.body);
    if (record.kind === 'time_entry') first.entry.status = replayed.entry.status;
    expect(replayed).toMatchObject(first);
    return mismatch === null ? 'same' : 'mismatch';
  }

  private async review(record: Record | undefined): Promise<string> {
    if (record?.kind !== 'time_entry') return 'nothing';
    const answer = await work.reviewTimeEntry(this.organization, record.id, 'APPROVED', 'ada');
    return answer.ok ? 'reviewed' : answer.error.code;
  }

  private async redact(record: Record | undefined, stop: Stop): Promise<string> {
    if (!record) return 'nothing';
    const { kind, id } = record;
    const redact = (bindings: (typeof STOPS)[Stop]) =>
      redactRecord(archiveContext(bindings), { organization: this.organization, kind, id, by: 'Ada' });
    const ended = await redact(STOPS[stop]).catch((err: unknown) => {
      expect(err).toMatchObject(isUnavailable);
      this.ended += 1;
      return undefined;
    });
    // The caller repeats what was not confirmed.
    const { status } = ended ?? (await redact({}));
    record.isRedacted = true;
    return ended ? status : 'redacted by the second call';
  }

  private async release(which: number): Promise<string> {
    const { archived, rows } = await everyChange(this.organization);
    const change = pick([...archived, ...rows], which);
    const answer = await work.release(this.organization, change?.cursor ?? '');
    return resultOf(answer).status;
  }

  private async archive(stop: Stop): Promise<string> {
    try {
      return (await archive(this.organization, STOPS[stop])).status;
    } catch (err) {
      expect(err).toMatchObject(isUnavailable);
      this.ended += 1;
      return `ended ${stop}`;
    }
  }

  /** Everything that must hold at any time. */
  async check(): Promise<void> {
    const { organization } = this;
    const { archived, rows } = await everyChange(organization);
    const all = [...archived, ...rows];
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1));
    const { seq: released } = (await this.first<{ seq: number }>('select seq from releases')) ?? { seq: 0 };
    expect(archived.length).toBeLessThanOrEqual(Math.min(released, all.length - 1));

    const stored = new Set(
      [...(await rowsOf('notes', organization)), ...(await rowsOf('time_entries', organization))].map(({ id }) => id),
    );
    const archivedIds = archived.flatMap(({ note, timeEntry }) => [note?.id, timeEntry?.id]);
    const text = JSON.stringify(archived);
    for (const { kind, id, text: written, isRedacted } of this.records) {
      const places = [stored.has(id), archivedIds.includes(id)];
      expect([kind, places.filter(Boolean)]).toEqual([kind, [true]]);
      if (isRedacted) expect(text).not.toContain(written);
      else if (!stored.has(id)) expect(text).toContain(written);
    }
    expect(stored.size + new Set(archivedIds.filter((id) => id !== undefined)).size).toBe(this.records.length);
  }

  /** What must hold at the end, when everything is archived that can be. */
  async finish(): Promise<void> {
    await this.write('note');
    await releaseAll(this.organization);
    while ((await archive(this.organization)).status !== 'nothing');
    await this.check();
    for (const record of this.records) await this.replay(record, true);
    // A call that ends early after another one did may leave an object that only the operator finds.
    if (this.ended > 1) {
      const later = () => ({ ...archiveContext(), now: () => Date.now() + 3_600_000 });
      const { findings } = await checkArchive(later, { organization: this.organization, repair: true });
      expect(findings.filter(({ finding }) => finding !== 'deleted')).toEqual([]);
    }
    const named = await this.all<{ object: string }>('select object from archives');
    expect(await objectsIn(this.organization)).toEqual(named.map(({ object }) => object));
    resultOf(await work.eraseOrganization(this.organization, await lastCursor(this.organization), 'Ada'));
    expect(await objectsIn(this.organization)).toEqual([]);
    for (const table of ['audit_log', 'notes', 'time_entries', 'archives', 'archived_notes', 'archived_time_entries'])
      expect([table, await this.all(`select * from ${table}`)]).toEqual([table, []]);
  }

  private async all<Row>(sql: string): Promise<Row[]> {
    const statement = env.DB.prepare(`${sql} where organization_id = ?`).bind(this.organization);
    return (await statement.all<Row>()).results;
  }

  private async first<Row>(sql: string): Promise<Row | undefined> {
    return (await this.all<Row>(sql))[0];
  }
}

test('every acknowledged record is in one place, and every Idempotency-Key is answered, whatever happens', async () => {
  const outcomes = new Tally();
  const sequence = fc.asyncProperty(fc.array(event, { minLength: 20, maxLength: 35 }), async (events) => {
    const world = new World(await makeWorld());
    for (const one of events) {
      outcomes.add(`${one.do}: ${await world.run(one)}`);
      await world.check();
    }
    await world.finish();
  });
  await fc.assert(sequence, {
    numRuns: runs('archive, in sequences of 20 to 35 events', inLongRuns(8, 5)),
    endOnFailure: true,
  });
  outcomes.print('archive: events');
  for (const outcome of ['archive: archived', 'redact: redacted', 'replay: mismatch', 'review: reviewed'])
    expect(outcomes.of(outcome)).toBeGreaterThan(0);
}, 300_000);
