import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keysOf } from '../../../src/lib/objects.ts';
import { checkArchives } from '../../../src/modules/archive/check-archive.ts';
import { gunzip } from '../../../src/modules/archive/gzip.ts';
import { redactRecord } from '../../../src/services/work/record-services.ts';
import { Tally } from '../../support/hostile.ts';
import { inLongRuns, runs } from '../../support/property.ts';
import { lastCursor, resultOf, work } from '../../support/rpc.ts';
import { keepRows } from '../../support/time-travel.ts';
import { makeWorld, rowsOf, TIME } from '../../support/world.ts';
import { archive, archiveContext, bucket, everyChange, objectsIn, releaseAll, STOPS } from './support.ts';

// Random sequences of everything that happens to records, with steps of the archive that end early, a
// bucket that loses, cuts and brings back objects, and a database that goes back in time. A model has
// the records that were acknowledged; after each event the database and the archive together must have
// the same, except for what is in a damaged object. After a repair nothing is missing.

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

type Stop = keyof typeof STOPS;

/** What happens to a world. Its outcome is in words. */
interface Event {
  do: string;
  with: readonly unknown[];
  run: (world: World) => Promise<string>;
}
const event =
  <Args extends unknown[]>(name: string, run: (world: World, ...args: Args) => Promise<string>) =>
  (...args: Args): Event => ({ do: name, with: args, run: (world) => run(world, ...args) });

const write = event('write', (world, kind: Kind) => world.write(kind));
const replay = event('replay', (world, which: number, isSame: boolean) => world.replay(world.record(which), isSame));
const review = event('review', (world, which: number) => world.review(world.record(which)));
const redact = event('redact', (world, which: number, stop: Stop) => world.redact(world.record(which), stop));
const release = event('release', (world, which: number) => world.release(which));
const releaseEverything = event('release all', (world) => world.releaseAll());
const step = event('archive', (world, stop: Stop) => world.archive(stop));
const race = event('race', (world) => world.race());
const damage = event('damage', (world, which: number, isLost: boolean) => world.damage(which, isLost));
const undoRedaction = event('undo a redaction', (world, which: number, what: 'bucket' | 'database') =>
  world.undoRedaction(which, what),
);
const backUp = event('back up', (world) => world.backUp());
const goBack = event('go back', (world, what: 'bucket' | 'database') => world.goBackTo(what));
const check = event('check', (world) => world.checkArchive());
const repair = event('repair', (world) => world.repair());

const which = fc.nat(1_000);
const stop = fc.constantFrom<Stop>('none', ...keysOf(STOPS));
const what = fc.constantFrom<('bucket' | 'database')[]>('bucket', 'database');
const anyEvent = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<Kind>('note', 'time_entry').map((kind) => write(kind)) },
  { weight: 2, arbitrary: fc.tuple(which, fc.boolean()).map((args) => replay(...args)) },
  { weight: 3, arbitrary: which.map((one) => review(one)) },
  { weight: 2, arbitrary: fc.tuple(which, stop).map((args) => redact(...args)) },
  { weight: 2, arbitrary: which.map((one) => release(one)) },
  { weight: 3, arbitrary: fc.constant(releaseEverything()) },
  { weight: 5, arbitrary: stop.map((one) => step(one)) },
  { weight: 1, arbitrary: fc.constant(race()) },
  { weight: 2, arbitrary: fc.tuple(which, fc.boolean()).map((args) => damage(...args)) },
  { weight: 4, arbitrary: fc.tuple(which, what).map((args) => undoRedaction(...args)) },
  { weight: 3, arbitrary: fc.constantFrom(backUp(), goBack('bucket'), goBack('database')) },
  { weight: 2, arbitrary: fc.constantFrom(check(), repair()) },
);

/** No call that is still running is older than 15 minutes. */
const later = () => ({ ...archiveContext(), now: () => Date.now() + 3_600_000 });

const isSome = (count: number) => count > 0;
const pick = <T>(list: readonly T[], at: number): T | undefined => list[at % Math.max(1, list.length)];
const isUnavailable = { code: 'unavailable' };
const inWords = (findings: readonly { finding: string }[]) =>
  [...new Set(findings.map(({ finding }) => finding))].sort().join(' and ') || 'clean';

class World {
  records: Record[] = [];
  private readonly made: Awaited<ReturnType<typeof makeWorld>>;
  private number = 0;
  /** Every object that was ever named: the operator's copies. */
  private readonly copies = new Map<string, Uint8Array<ArrayBuffer>>();
  /** The backup: the objects, the rows and the model at that time. */
  private backup:
    | { objects: Map<string, Uint8Array<ArrayBuffer>>; restore: () => Promise<void>; records: Record[] }
    | undefined;
  constructor(made: Awaited<ReturnType<typeof makeWorld>>) {
    this.made = made;
  }

  get organization() {
    return this.made.organization;
  }

  record(which: number): Record | undefined {
    return pick(this.records, which);
  }

  async releaseAll(): Promise<string> {
    await releaseAll(this.organization);
    return 'released';
  }

  async checkArchive(): Promise<string> {
    const { findings } = await checkArchives(later, this.organization, { read: true, remove: true, repair: false });
    return inWords(findings);
  }

  async race(): Promise<string> {
    const steps = await Promise.all([archive(this.organization), archive(this.organization)]);
    return steps.map(({ status }) => status).join(' and ');
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

  async replay(record: Record | undefined, isSame: boolean): Promise<string> {
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

  async review(record: Record | undefined): Promise<string> {
    if (record?.kind !== 'time_entry') return 'nothing';
    const answer = await work.reviewTimeEntry(this.organization, record.id, 'APPROVED', 'ada');
    return answer.ok ? 'reviewed' : answer.error.code;
  }

  async redact(record: Record | undefined, stop: Stop): Promise<string> {
    if (!record) return 'nothing';
    const { kind, id } = record;
    const redact = (bindings = {}) =>
      redactRecord(archiveContext(bindings), { organization: this.organization, kind, id, by: 'Ada' });
    const ended = await redact(STOPS[stop]).catch((err: unknown) => {
      expect(err).toMatchObject(isUnavailable);
      return undefined;
    });
    // The caller repeats what was not confirmed.
    const { status, archive: damage } = ended ?? (await redact());
    record.isRedacted = true;
    const isRow = (await rowsOf(kind === 'note' ? 'notes' : 'time_entries', this.organization)).some(
      (row) => row['id'] === id,
    );
    if (!isRow && !damage) await this.expectNoTextOf([record]);
    return [ended ? status : `ended ${stop}`, ...(damage ? [`although ${damage}`] : [])].join(' ');
  }

  async damage(which: number, isLost: boolean): Promise<string> {
    const name = pick(await this.namedObjects(), which);
    const bytes = name === undefined ? undefined : await bucket.get(name);
    if (name === undefined || !bytes) return 'nothing';
    if (isLost) await env.ARCHIVE.delete(name);
    else await env.ARCHIVE.put(name, bytes.slice(0, bytes.length / 2));
    return isLost ? 'lost' : 'cut';
  }

  async backUp(): Promise<string> {
    const objects = new Map<string, Uint8Array<ArrayBuffer>>();
    for (const name of await objectsIn(this.organization))
      objects.set(name, (await bucket.get(name)) ?? new Uint8Array());
    const records = this.records.map((record) => ({ ...record }));
    this.backup = { objects, restore: await keepRows(this.organization), records };
    return 'kept';
  }

  /** Puts one of the two back, and follows the runbook. */
  async goBackTo(what: 'bucket' | 'database'): Promise<string> {
    if (!this.backup) return 'nothing';
    const { objects, restore, records } = this.backup;
    if (what === 'bucket') {
      await env.ARCHIVE.delete(await objectsIn(this.organization));
      for (const [name, bytes] of objects) await env.ARCHIVE.put(name, bytes);
      return 'back';
    }
    const undone = this.records;
    await restore();
    this.records = records.map((record) => ({ ...record }));
    await this.repair();
    for (const record of this.records)
      if (undone.some(({ id, isRedacted }) => id === record.id && isRedacted)) await this.redact(record, 'none');
    return 'back';
  }

  /** Repairs what can be repaired, and puts the copies of the other objects back. */
  async repair(): Promise<string> {
    const repair = () => checkArchives(later, this.organization, { read: true, remove: true, repair: true });
    const { findings } = await repair();
    const isLost = ({ finding }: { finding: string }) => finding === 'missing' || finding === 'damaged';
    for (const { object } of findings.filter(isLost))
      await env.ARCHIVE.put(object, this.copies.get(object) ?? 'no copy');
    expect((await repair()).findings.filter(isLost)).toEqual([]);
    return inWords(findings);
  }

  /** Redacts an archived record, puts back the bucket or the database from before that, and repairs. */
  async undoRedaction(which: number, what: 'bucket' | 'database'): Promise<string> {
    await this.repair();
    const { archived } = await everyChange(this.organization);
    const ids = archived.flatMap(({ note, timeEntry }) => note?.id ?? timeEntry?.id ?? []);
    const record = pick(
      this.records.filter(({ id, isRedacted }) => !isRedacted && ids.includes(id)),
      which,
    );
    if (!record) return 'nothing';
    await this.backUp();
    await this.redact(record, 'none');
    await this.goBackTo(what);
    await this.check();
    await this.repair();
    await this.expectNoTextOf(this.records.filter(({ id, isRedacted }) => isRedacted && ids.includes(id)));
    return what;
  }

  /** No object contains the text of one of these records, whether an archive names it or not. */
  private async expectNoTextOf(records: readonly Record[]): Promise<void> {
    for (const name of await objectsIn(this.organization)) {
      const bytes = (await bucket.get(name)) ?? new Uint8Array();
      const text = await gunzip(bytes).catch(() => 'cut');
      for (const { text: redacted } of records) expect([name, text.includes(redacted)]).toEqual([name, false]);
    }
  }

  private async namedObjects(): Promise<string[]> {
    return (await this.all<{ object: string }>('select object from archives')).map(({ object }) => object);
  }

  async release(which: number): Promise<string> {
    const { archived, rows } = await everyChange(this.organization, 'except damaged');
    const change = pick([...archived, ...rows], which);
    const answer = await work.release(this.organization, change?.cursor ?? '');
    return resultOf(answer).status;
  }

  async archive(stop: Stop): Promise<string> {
    try {
      return (await archive(this.organization, STOPS[stop])).status;
    } catch (err) {
      expect(err).toMatchObject(isUnavailable);
      return `ended ${stop}`;
    }
  }

  /** Everything that must hold at any time. */
  async check(): Promise<void> {
    const { organization } = this;
    for (const name of await this.namedObjects()) {
      const bytes = this.copies.has(name) ? undefined : await bucket.get(name);
      if (bytes) this.copies.set(name, bytes);
    }
    const { archived, rows, damaged } = await everyChange(organization, 'except damaged');
    const all = [...archived.map(({ seq }) => seq), ...damaged, ...rows.map(({ seq }) => seq)].sort((a, b) => a - b);
    expect(all).toEqual(all.map((_, index) => index + 1));
    const { seq: released } = (await this.first<{ seq: number }>('select seq from releases')) ?? { seq: 0 };
    expect(archived.length + damaged.length).toBeLessThanOrEqual(Math.min(released, all.length - 1));

    const stored = new Set(
      [...(await rowsOf('notes', organization)), ...(await rowsOf('time_entries', organization))].map(({ id }) => id),
    );
    const archivedIds = archived.flatMap(({ note, timeEntry }) => note?.id ?? timeEntry?.id ?? []);
    const lost = new Set(await this.recordsOf(damaged));
    const text = JSON.stringify(archived);
    for (const { kind, id, text: written, isRedacted } of this.records) {
      const places = [stored.has(id), archivedIds.includes(id), lost.has(id)];
      expect([kind, places.filter(Boolean)]).toEqual([kind, [true]]);
      if (isRedacted) expect(text).not.toContain(written);
      else if (archivedIds.includes(id)) expect(text).toContain(written);
    }
    // Each is in one line only.
    expect(stored.size + archivedIds.length + lost.size).toBe(this.records.length);
  }

  /** What must hold at the end, when everything is archived that can be. */
  async finish(): Promise<void> {
    await this.repair();
    await this.write('note');
    await releaseAll(this.organization);
    while ((await archive(this.organization)).status !== 'nothing');
    await this.check();
    for (const record of this.records) await this.replay(record, true);
    // What the daily job does: a call that ended early may have left an object.
    const { findings } = await checkArchives(later, this.organization, { read: false, remove: true, repair: false });
    expect(findings.filter(({ finding }) => finding !== 'deleted')).toEqual([]);
    expect(await objectsIn(this.organization)).toEqual(await this.namedObjects());
    expect((await everyChange(this.organization)).archived.length).toBeGreaterThan(0);
    resultOf(await work.eraseOrganization(this.organization, await lastCursor(this.organization), 'Ada'));
    expect(await objectsIn(this.organization)).toEqual([]);
    for (const table of ['audit_log', 'notes', 'time_entries', 'archives', 'archived_notes', 'archived_time_entries'])
      expect([table, await this.all(`select * from ${table}`)]).toEqual([table, []]);
  }

  /** The records whose lines are among these changes. */
  private async recordsOf(seqs: readonly number[]): Promise<string[]> {
    const tables = ['archived_notes', 'archived_time_entries'].map((table) =>
      this.all<{ id: string; seq: number }>(`select lower(hex(id)) as id, archived_seq as seq from ${table}`),
    );
    return (await Promise.all(tables))
      .flat()
      .filter(({ seq }) => seqs.includes(seq))
      .map(({ id }) => id.replace(/^(.{8})(.{4})(.{4})(.{4})(.*)$/, '$1-$2-$3-$4-$5'));
  }

  private async all<Row>(sql: string): Promise<Row[]> {
    const statement = env.DB.prepare(`${sql} where organization_id = ?`).bind(this.organization);
    return (await statement.all<Row>()).results;
  }

  private async first<Row>(sql: string): Promise<Row | undefined> {
    return (await this.all<Row>(sql))[0];
  }
}

/** Reaches each outcome that the test expects to have seen, whatever the other sequences are. */
const EVERY_OUTCOME = [
  write('time_entry'),
  write('note'),
  replay(1, false),
  review(0),
  redact(1, 'none'),
  write('note'),
  releaseEverything(),
  step('none'),
  undoRedaction(0, 'bucket'),
  damage(0, true),
];

const RELEASED = [write('note'), write('time_entry'), write('note'), releaseEverything()];

/**
 * A step and a redaction that end early, each followed by calls that complete it, and two simultaneous steps.
 * The first redaction changes what the next step reads, so its object has another name.
 */
const stopped = (stop: Stop) => [...RELEASED, step(stop), redact(0, 'none'), race(), redact(1, stop)];

/** A database from before an archive, and one from before a redaction in it. */
const RESTORED = [...RELEASED, backUp(), step('none'), goBack('database'), step('none'), undoRedaction(0, 'database')];

/** A bucket from before a redaction: the repeated redaction says that its object is missing. */
const OLDER_BUCKET = [...RELEASED, step('none'), backUp(), redact(0, 'none'), goBack('bucket'), redact(0, 'none')];

const EXAMPLES = [EVERY_OUTCOME, RESTORED, OLDER_BUCKET, ...keysOf(STOPS).map(stopped)];

test('after any sequence every acknowledged record is in one place, no redacted text returns, and every Idempotency-Key gets its response', async () => {
  const outcomes = new Tally();
  const sequence = fc.asyncProperty(fc.array(anyEvent, { minLength: 20, maxLength: 35 }), async (events) => {
    const world = new World(await makeWorld());
    for (const one of events) {
      outcomes.add(`${one.do}: ${await one.run(world)}`);
      await world.check();
    }
    await world.finish();
  });
  await fc.assert(sequence, {
    numRuns: runs('archive, in sequences of 20 to 35 events', EXAMPLES.length + inLongRuns(40, 5)),
    endOnFailure: true,
    examples: EXAMPLES.map((events) => [events]),
  });
  outcomes.print('archive: events');
  const expected = ['archive: archived', 'redact: redacted', 'replay: mismatch', 'review: reviewed'];
  // A step reads no object, and deletes one only after a redaction.
  const stops = keysOf(STOPS).filter((name) => name !== 'none');
  for (const name of stops) expected.push(`redact: ended ${name}`);
  for (const name of stops.slice(1, -1)) expected.push(`archive: ended ${name}`);
  for (const outcome of expected) expect([outcome, isSome(outcomes.of(outcome))]).toEqual([outcome, true]);
  for (const either of [
    ['damage: lost', 'damage: cut'],
    ['undo a redaction: bucket', 'undo a redaction: database'],
  ])
    expect([either, either.some((outcome) => isSome(outcomes.of(outcome)))]).toEqual([either, true]);
}, 300_000);
