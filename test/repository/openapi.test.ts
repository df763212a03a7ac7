import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import spectral from '@stoplight/spectral-core';
import { oas } from '@stoplight/spectral-rulesets';
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
const documents = [
  ['the API', document],
  ['the API, without SERVICE_URL', describeApi(settings, '')],
  ...DOCUMENTS.flatMap(({ title, describe }) => [
    [title, describe('https://tickets.northwind.example', MESSAGES)] as const,
    [`${title}, without SERVICE_URL`, describe('', MESSAGES)] as const,
  ]),
] as const;

test.each(documents)('Spectral finds neither an error nor a warning in the document of %s', async (_, document) => {
  const linter = new spectral.Spectral();
  linter.setRuleset(new spectral.Ruleset({ extends: [oas] }));
  expect(await linter.run(JSON.stringify(document))).toEqual([]);
});

test('Redocly finds neither an error nor a warning in any of these documents', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'openapi-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const names = documents.map((_, index) => `${index}.json`);
  for (const [index, [, document]] of documents.entries())
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
