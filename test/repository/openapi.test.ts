import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { transform } from 'esbuild';
import { jsonSchemaToZod } from 'json-schema-to-zod';
import { RE2JS } from 're2js';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { describeApi } from '../../src/docs/api-openapi.ts';
import { DOCUMENTS, MESSAGES } from '../../src/docs/modules.ts';
import { PROBLEMS } from '../../src/http/problems.ts';
import { dereference, type Json } from '../support/contract.ts';

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

/** Every object in the documents, with their references replaced. */
const objects = documents.flatMap((document) => {
  const whole = z.json().parse(JSON.parse(JSON.stringify(document)));
  return [...objectsIn(dereference(whole, whole))];
});

function* objectsIn(node: Json): Generator<Record<string, Json>> {
  if (typeof node !== 'object' || node === null) return;
  if (!Array.isArray(node)) yield node;
  for (const value of Object.values(node)) yield* objectsIn(value);
}

test("Go's regular expressions (RE2) can compile every pattern of the OpenAPI documents", () => {
  const patterns = new Set(objects.flatMap(({ pattern }) => (typeof pattern === 'string' ? [pattern] : [])));
  expect(patterns.size).toBeGreaterThan(20);
  for (const pattern of patterns) expect(() => RE2JS.compile(pattern), pattern).not.toThrow();
});

/** A parameter, header or body. Its examples are in its schema, or beside it. */
const described = z.object({
  schema: z.looseObject({ example: z.json().optional() }),
  example: z.json().optional(),
  examples: z.record(z.string(), z.object({ value: z.json() })).default({}),
});

test('every schema of the OpenAPI documents, converted by json-schema-to-zod, accepts its examples', async () => {
  const found = objects.flatMap((object) => described.safeParse(object).data ?? []);
  const typescript = `[${found.map(({ schema }) => jsonSchemaToZod(schema)).join(',')}]`;
  const { code } = await transform(typescript, { loader: 'ts' });
  const shapes = z.array(z.instanceof(z.ZodType)).parse(new Function('z', `return ${code}`)(z));
  const errors = found.flatMap(({ schema, example, examples }, index) =>
    [schema.example, example, ...Object.values(examples).map(({ value }) => value)]
      .filter((value) => value !== undefined)
      .map((value) => ({ value, error: shapes[index]?.safeParse(value).error?.issues })),
  );
  expect(errors.length).toBeGreaterThan(700);
  expect(errors.filter(({ error }) => error)).toEqual([]);
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
