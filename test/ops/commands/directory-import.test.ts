import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { inLongRuns } from '../../support/property.ts';
import { runCli } from '../../support/run-cli.ts';
import { DEMO, demoDatabase, remoteDatabase } from './database.ts';

/**
 * The numbers in the summary of an import: records, organizations, created, changed and written.
 */
const numbersIn = (stdout: string) =>
  Array.from((stdout.trim().split('\n').at(-1) ?? '').matchAll(/\d+/g), ([digits]) => Number(digits));

const TICKETS = inLongRuns(20_000, 5_000);

/** The lines of so many tickets of 5 organizations, in turns: an export need not be ordered by organization. */
function* bigDirectory(): Generator<string> {
  const organizations = Array.from({ length: 5 }, (_, index) => `msp-${index}`);
  const line = (record: Record<string, unknown>) => `${JSON.stringify(record)}\n`;
  const psa = { psa: true, timeZone: 'Europe/Berlin', defaultHourlyRate: 100 };
  for (const id of organizations) yield line({ type: 'organization', id, name: id, ...psa });
  for (const organization of organizations) yield line({ type: 'company', organization, id: 'acme', name: 'Acme' });
  for (let i = 0; i < TICKETS / 5; i++) {
    for (const organization of organizations)
      yield line({ type: 'ticket', organization, id: `T-${i}`, company: 'acme' });
  }
}

describe('directory:import', () => {
  let remote: Awaited<ReturnType<typeof remoteDatabase>>;
  beforeAll(async () => {
    remote = await remoteDatabase();
  });
  afterAll(() => remote.close());
  const importLines = (input: Iterable<string>, ...args: string[]) =>
    runCli('directory:import', ['-', ...args, '--remote'], { input, env: remote.env });

  test(`imports ${TICKETS} tickets into a local database, and changes nothing the second time`, async () => {
    const { options, remove } = await demoDatabase();
    onTestFinished(remove);
    const run = () => runCli('directory:import', ['-', ...options], { input: bigDirectory() });
    const first = await run();
    expect([first.code, numbersIn(first.stdout).slice(0, 4)]).toEqual([0, [TICKETS + 10, 5, TICKETS + 15, 0]]);
    const second = await run();
    expect([second.code, numbersIn(second.stdout)]).toEqual([0, [TICKETS + 10, 5, 0, 0, 0]]);
  });

  test('counts the changes of a dry run by organization and type, and writes nothing', async () => {
    const demo = await readFile(DEMO, 'utf8');
    const input = [
      demo.replace('"hourlyRate":150', '"hourlyRate":155.5'),
      '{"type":"company","organization":"northwind","id":"new-one","name":"New"}\n',
    ];
    const { code, stdout, stderr } = await importLines(input, '--dry-run');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.trim().split('\n')).toEqual([
      'northwind, company created: 1',
      'northwind, agreement changed: 1',
      expect.stringMatching(/^25 .* 3 .* 1 .* 1 .* 0 /),
    ]);
  });

  test('prints each error of a file with its line, record, field and code', async () => {
    const demo = await readFile(DEMO, 'utf8');
    const { code, stderr } = await importLines([demo.replace('"hourlyRate":150', '"hourlyRate":"150"'), '{']);
    expect(code).toBe(1);
    const errors = stderr.split('\n').filter((line) => line.startsWith('line '));
    expect(errors.map((line) => line.slice(0, line.indexOf(')')))).toEqual([
      'line 9, agreement acme-support, /hourlyRate (invalid_type',
      'line 25, record (malformed_json',
    ]);
  });

  test('explains wrong credentials for a deployed database', async () => {
    const input = [await readFile(DEMO, 'utf8')];
    const run = (env: Record<string, string>) =>
      runCli('directory:import', ['-', '--remote'], { input, env: { ...remote.env, ...env } });
    expect(await run({ CLOUDFLARE_API_TOKEN: 'bad' })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Authentication error'),
    });
    expect(await run({ CLOUDFLARE_API_TOKEN: '' })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('CLOUDFLARE_API_TOKEN'),
    });
  });
});
