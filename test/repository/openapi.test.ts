import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { describeApi } from '../../src/docs/api-openapi.ts';
import { DOCUMENTS, MESSAGES } from '../../src/docs/modules.ts';
import { PROBLEMS } from '../../src/http/problems.ts';

const settings = {
  keyPrefix: 'twb',
  ipLimit: { quota: 1200, windowMs: 10_000 },
  keyLimit: { quota: 200, windowMs: 10_000 },
  dayLimits: { key: null, organization: null },
};
const document = describeApi(settings, 'https://tickets.northwind.example');
/** Each with and without SERVICE_URL. */
const documents = [
  document,
  describeApi(settings, ''),
  ...DOCUMENTS.flatMap(({ describe }) => [
    describe('https://tickets.northwind.example', MESSAGES),
    describe('', MESSAGES),
  ]),
];
/** In addition to those that Redocly recommends. */
const RULES = [
  'component-name-unique',
  'info-contact',
  'no-duplicated-tag-names',
  'no-invalid-parameter-examples',
  'no-invalid-schema-examples',
  'no-required-schema-properties-undefined',
  'operation-description',
  'operation-tag-defined',
];

test('Redocly finds neither an error nor a warning in the OpenAPI documents, with and without SERVICE_URL', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'openapi-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const names = documents.map((_, index) => `${index}.json`);
  const rules = Object.fromEntries(RULES.map((name) => [name, 'error']));
  await writeFile(join(directory, 'redocly.yaml'), JSON.stringify({ extends: ['recommended'], rules }));
  for (const [index, document] of documents.entries())
    await writeFile(join(directory, `${index}.json`), JSON.stringify(document));
  const { stdout } = await promisify(execFile)('redocly', ['lint', '--format=json', ...names], {
    cwd: directory,
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  });
  const results: unknown[] = JSON.parse(`[${stdout.replaceAll('}{', '},{')}]`);
  const clean = { totals: { errors: 0, warnings: 0, ignored: 0 }, problems: [] };
  expect(results).toEqual(documents.map(() => expect.objectContaining(clean)));
});

test('every problem code is documented somewhere', () => {
  const text = JSON.stringify(document.paths);
  for (const code of Object.keys(PROBLEMS)) expect(text).toContain(`"${code}":{"summary"`);
});

test('the package and the contract of the API have the version of the latest entry in the changelog', async () => {
  const [, latest] = /^## (\d+\.\d+\.\d+)/m.exec(await readFile('CHANGELOG.md', 'utf8')) ?? [];
  expect(latest).toBeDefined();
  const packaged: unknown = JSON.parse(await readFile('package.json', 'utf8'));
  expect([packaged, document]).toMatchObject([{ version: latest }, { info: { version: latest } }]);
});
