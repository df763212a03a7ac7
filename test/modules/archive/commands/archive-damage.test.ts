import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { sha256 } from '../../../../src/lib/bytes.ts';
import type { ObjectStore } from '../../../../src/lib/object-store.ts';
import { exportChanges } from '../../../../src/ops/export-changes.ts';
import { withLocalD1 } from '../../../../src/ops/local.ts';
import { commandPorts } from '../../../../src/ops/modules.ts';
import { operatorContext } from '../../../../src/ops/open-database.ts';
import { remoteDatabase } from '../../../ops/commands/database.ts';
import { archiveAll, commandsOf, oldRecords, organization } from '../../../ops/commands/old-records.ts';
import { copyOf, type LocalDatabase } from '../../../support/command.ts';
import { copyDatabase } from '../../../support/shared.ts';

// An object of the archive that is missing, damaged or older than the database.

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');

/** A database and its archive with one object. Each test has a copy. */
let original: LocalDatabase;
let made: Awaited<ReturnType<typeof oldRecords>>;
let object: string;
let bytes: Uint8Array<ArrayBuffer>;
beforeAll(async () => {
  original = await copyDatabase('demo');
  await withLocalD1(original.persistTo, async (db, archive) => {
    made = await oldRecords(db);
    object = await archiveAll(db, archive);
    bytes = (await archive?.get(object)) ?? new Uint8Array();
  });
});
afterAll(() => original.remove());

let remote: Awaited<ReturnType<typeof remoteDatabase>>;
let ops: ReturnType<typeof commandsOf>;
let files: string;
let bucket: ObjectStore;
beforeEach(async () => {
  remote = await remoteDatabase(copyOf(original.persistTo));
  ops = commandsOf(remote);
  files = await mkdtemp(join(tmpdir(), 'twb-damage-'));
  bucket = remote.archive;
});
afterEach(async () => {
  await remote.close();
  await rm(files, { recursive: true });
});

const store = async (name: string, content: Uint8Array<ArrayBuffer>) =>
  bucket.put(name, content, (await sha256(content)).toHex());
const objects = async () => (await bucket.list(`${organization}/`)).objects.map(({ name }) => name);
const textsInBucket = async () => {
  const texts = (await objects()).map(async (name) => gunzipSync((await bucket.get(name)) ?? '').toString());
  return (await Promise.all(texts)).join('');
};
const DAMAGE = {
  missing: () => bucket.delete([object]),
  truncated: () => store(object, bytes.slice(0, bytes.length / 2)),
  'one byte': () => store(object, bytes.with(40, (bytes[40] ?? 0) ^ 1)),
};
const exportFile = () => join(files, 'fabrikam.ndjson');
const erase = (...args: string[]) => {
  const confirmed = ['--export', exportFile(), '--by', 'Ada', '--confirm', organization];
  return ops('organization:erase', organization, ...confirmed, ...args);
};
/** Expects that the erasure left the object out, and that export and database say so. */
async function expectErased(erased: Awaited<ReturnType<typeof erase>>): Promise<void> {
  expect([erased.code, erased.stderr]).toEqual([0, '']);
  expect(linesOf(await readFile(exportFile(), 'utf8'))[0]).toContain(object);
  const recorded = await remote.db.prepare('select not_exported from erasures').first('not_exported');
  expect(recorded).toBe(JSON.stringify([object]));
  expect(await objects()).toEqual([]);
}

test('an export contains every record, including records without a review', async () => {
  const exported = linesOf((await ops('changes:export', organization)).stdout);
  expect(exported).toEqual(made.lines);
  expect(JSON.parse(exported[3] ?? '')).toMatchObject({
    action: 'time_entry.created',
    timeEntry: { id: made.entry, minutes: 47, description: { text: 'Replaced the disk' }, status: 'SUBMITTED' },
  });
  const left = await remote.db.prepare('select count(*) as n from time_entries').first('n');
  expect(left).toBe(0);
});

test('an export starts exactly after its cursor, even within an archive', async () => {
  const all = linesOf((await ops('changes:export', organization)).stdout);
  for (const [at, line] of all.entries()) {
    const later = await ops('changes:export', organization, '--cursor', JSON.parse(line).cursor);
    expect(linesOf(later.stdout)).toEqual(all.slice(at + 1));
    expect(later.stderr).toMatch(new RegExp(`^${all.length - at - 1} changes?\\.`));
  }
});

test('archive:check finds an object that is missing or damaged, and reports it until it is right again', async () => {
  for (const [kind, damage] of Object.entries(DAMAGE)) {
    expect(await ops('archive:check', '--read')).toMatchObject({ code: 0, stdout: '' });
    await damage();
    const found = await ops('archive:check', '--read');
    const stdout = `${kind === 'missing' ? 'missing' : 'damaged'}: ${object}\n`;
    expect([kind, found]).toMatchObject([kind, { code: 1, stdout }]);
    expect(found.stderr).toContain('1 object to look at');
    // Sizes are compared without --read too. What was found damaged is read again.
    expect(await ops('archive:check')).toMatchObject({ code: 1, stdout });
    await store(object, bytes);
  }
  expect(await ops('archive:check')).toMatchObject({ code: 0, stdout: '' });
});

test('an export and an erasure can continue without a damaged object, and both report it', async () => {
  await DAMAGE['one byte']();
  const refused = await ops('changes:export', organization);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(`--without ${object}`) });
  const exported = await ops('changes:export', organization, '--without', object);
  expect([exported.code, linesOf(exported.stdout).map((line) => JSON.parse(line))]).toMatchObject([
    0,
    [{ notExported: { object, fromSeq: 1, toSeq: 4, damage: 'damaged' } }, { seq: 5 }],
  ]);
  expect(await erase()).toMatchObject({ code: 1, stderr: expect.stringContaining(`--without ${object}`) });
  expect(await remote.db.prepare('select count(*) as n from erasures').first('n')).toBe(0);
  await expectErased(await erase('--without', object));
  // A file with such a line can be read by the command that repeats what a restore has undone.
  const repeated = await ops('changes:repeat', organization, exportFile(), '--by', 'Ada');
  expect(repeated.stderr).toContain('no organization');
});

test('a missing object does not stop the redaction of a record in it', async () => {
  await DAMAGE.missing();
  const redact = () => ops('record:redact', organization, 'note', made.note, '--by', 'Ada');
  expect(await redact()).toMatchObject({ code: 0, stdout: expect.stringContaining('object is missing') });
  expect((await redact()).stdout).toContain('already removed');
  // Whatever brings the object back: the text is gone.
  await store(object, bytes);
  const exported = (await ops('changes:export', organization)).stdout;
  expect(exported).not.toContain('hunter2');
  expect(exported).toContain('hunter3');
  // A check finds that it is back, and stores it without the text.
  expect(await ops('archive:check')).toMatchObject({ code: 0, stdout: '' });
  expect(await textsInBucket()).toMatch(/^(?!.*hunter2).*hunter3/s);
});

test('with --without lost, an export and an erasure leave out all objects that archive:check has found', async () => {
  await DAMAGE.missing();
  const lost = ['--without', 'lost'];
  expect(await erase(...lost)).toMatchObject({ code: 1, stderr: expect.stringContaining('run archive:check') });
  await ops('archive:check');
  const exported = await ops('changes:export', organization, ...lost);
  expect([exported.code, JSON.parse(linesOf(exported.stdout)[0] ?? '')]).toMatchObject([
    0,
    { notExported: { object } },
  ]);
  await expectErased(await erase(...lost));
});

test('an export reads an object that a redaction replaced while the export ran', async () => {
  const redact = Promise.withResolvers<void>();
  const archive: ObjectStore = {
    ...bucket,
    get: async (name) => {
      if (name === object) {
        expect((await ops('record:redact', organization, 'note', made.note, '--by', 'Ada')).code).toBe(0);
        redact.resolve();
      }
      return bucket.get(name);
    },
  };
  let text = '';
  const context = () => operatorContext(remote.db, commandPorts(archive));
  await exportChanges(context, organization, null, async (lines) => (text += lines));
  await redact.promise;
  expect(linesOf(text).map((line) => JSON.parse(line).seq)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(text).not.toContain('hunter2');
});

test('a readable object is exported, even with --without', async () => {
  const exported = await ops('changes:export', organization, '--without', object);
  expect(linesOf(exported.stdout)).toEqual(made.lines);
});

type Line = Record<string, Record<string, unknown> | null>;
/** Changes the record in the lines that have one in this field. */
const forgeRecords = (field: 'note' | 'timeEntry', fields: object) => (lines: Line[]) =>
  lines.map((line) => (line[field] ? { ...line, [field]: { ...line[field], ...fields } } : line));
const FORGERIES: ((lines: Line[]) => Line[])[] = [
  forgeRecords('note', { message: { text: 'Discount' } }),
  forgeRecords('note', { ticketId: '2001' }),
  forgeRecords('timeEntry', { minutes: 470 }),
  forgeRecords('timeEntry', { minutes: 470, description: { text: '[redacted]' } }),
  forgeRecords('timeEntry', { hourlyRate: 9 }),
  // A record removed, and a number twice.
  (lines) => lines.map((line) => ({ ...line, timeEntry: null })),
  (lines) => [...lines.slice(0, 1), ...lines.slice(0, 1), ...lines.slice(2)],
];

test('a repair names objects that disagree with the database, and takes none of them', async () => {
  const lines: Line[] = linesOf(gunzipSync(bytes).toString()).map((line) => JSON.parse(line));
  /** Stores lines under the name that an object with them has. */
  const storeAs = async (forged: Line[], level: number) => {
    const file = new Uint8Array(gzipSync(forged.map((line) => `${JSON.stringify(line)}\n`).join(''), { level }));
    const digest = (await sha256(file)).toHex();
    const name = object.replace(/[0-9a-f]{16}(?=\.ndjson)/, digest.slice(0, 16));
    await bucket.put(name, file, digest);
    return name;
  };
  const forge = () => Promise.all(FORGERIES.map((change) => storeAs(change(lines), 6)));
  await bucket.delete([object]);
  const names = await forge();
  const { code, stdout } = await ops('archive:check', '--repair');
  expect(code).toBe(1);
  expect(linesOf(stdout).sort()).toEqual([`missing: ${object}`, ...names.map((name) => `not named: ${name}`)].sort());
  // The right object is taken, although the others are newer.
  await storeAs(lines, 1);
  await forge();
  expect(await ops('archive:check', '--repair')).toMatchObject({ stdout: expect.stringContaining('replaced: ') });
  expect(linesOf((await ops('changes:export', organization)).stdout)).toEqual(made.lines);
});

test('after a restore, one command repeats the redactions of archived records', async () => {
  const from = join(files, 'before.ndjson');
  const before = await remoteDatabase(copyOf(original.persistTo));
  onTestFinished(before.close);
  const opsBefore = commandsOf(before);
  await opsBefore('record:redact', organization, 'note', made.note, '--by', 'Ada');
  await opsBefore('record:redact', organization, 'time_entry', made.entry, '--by', 'Ada');
  const exported = (await opsBefore('changes:export', organization)).stdout;
  const unknown = crypto.randomUUID();
  await writeFile(from, exported.replaceAll(made.entry, unknown));
  const repeat = () => ops('changes:repeat', organization, from, '--by', 'Ada');
  const lines = (outcome: string) =>
    `${outcome}: note.redacted ${made.note}, by operator\nnot in the database: time_entry.redacted ${unknown}, by operator\n`;
  expect(await repeat()).toEqual({
    code: 0,
    stdout: lines('repeated'),
    stderr: '2 changes undone, of 7 in the file.\n',
  });
  expect((await repeat()).stdout).toBe(lines('already repeated'));
  expect(await textsInBucket()).toMatch(/^(?!.*hunter2).*hunter3/s);
});
