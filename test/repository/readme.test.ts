import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { parsePolicy } from '../../src/domain/rate-limit.ts';
import { describeApi } from '../../src/http/api/openapi.ts';
import { CHECKSUM_RULE, keyPattern } from '../../src/http/docs/key-format.ts';
import { RECIPES, RULES } from '../../src/http/docs/recipes.ts';
import { PROBLEMS, UNAUTHORIZED_STEPS } from '../../src/http/problems.ts';

const configuration = await readFile('wrangler.toml', 'utf8');
const readme = await readFile('README.md', 'utf8');
const settings = {
  keyPrefix: 'twb',
  ipLimit: { quota: 1200, windowMs: 10_000 },
  keyLimit: { quota: 200, windowMs: 10_000 },
};
const text = JSON.stringify(describeApi(settings, 'https://tickets.example'));

const described = z.object({ description: z.string().optional() });
const fields = z.object({
  properties: z.record(z.string(), described.extend({ type: z.string() })),
  required: z.array(z.string()),
});
const document = z
  .object({
    paths: z.record(
      z.string(),
      z.record(z.string(), z.object({ summary: z.string(), responses: z.record(z.string(), z.unknown()) })),
    ),
    components: z.object({
      schemas: z.record(z.string(), z.unknown()),
      headers: z.record(z.string(), z.object({ schema: described })),
    }),
  })
  .parse(JSON.parse(text));

const row = (...cells: (string | number)[]) => `| ${cells.join(' | ')} |`;
const fieldRows = (schema: string) => {
  const { properties, required } = fields.parse(document.components.schemas[schema]);
  return Object.entries(properties).map(([name, { type, description }]) =>
    row(`\`${name}\``, type, required.includes(name) ? 'yes' : 'no', description ?? ''),
  );
};

/** Each header with what the document says of it, by the first component that describes it. */
const headers = new Map<string, string>();
for (const [, name = '', id = ''] of text.matchAll(/"([\w-]+)":\{"\$ref":"#\/components\/headers\/(\w+)"\}/g)) {
  if (!headers.has(name)) headers.set(name, document.components.headers[id]?.schema.description ?? '');
}

const limit = (variable: string) => {
  const { quota, windowMs } = parsePolicy(new RegExp(`^${variable} = "(.*)"$`, 'm').exec(configuration)?.[1] ?? '');
  return `${quota} requests in any ${windowMs / 1000} seconds`;
};

const TABLES: Record<string, string[]> = {
  endpoints: Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary, responses }]) =>
      row(
        `\`${method.toUpperCase()} /api/v1${path}\``,
        summary,
        Object.keys(responses)
          .filter((status) => status < '300')
          .join(', '),
      ),
    ),
  ),
  'note fields': fieldRows('NoteRequest'),
  'time entry fields': fieldRows('TimeEntryRequest'),
  errors: Object.entries(PROBLEMS).map(([code, { status, meaning, remedy }]) =>
    row(status, `\`${code}\``, meaning, remedy),
  ),
  headers: [...headers].map(([name, description]) => row(`\`${name}\``, description)),
  limits: [
    row(
      'Source address',
      '`IP_LIMIT`',
      limit('IP_LIMIT'),
      'before the key is looked at; IPv6 addresses share one limit per /64',
    ),
    row('Key', '`KEY_LIMIT`', limit('KEY_LIMIT'), 'once the key is known; a key may carry a lower one of its own'),
  ],
  '401 steps': UNAUTHORIZED_STEPS.map((step, index) => `${index + 1}. ${step}`),
  rules: RULES.map((rule) => row(...rule)),
  recipes: RECIPES.map(({ slug, tool, tried }) => row(`[${tool}](http://localhost:8787/docs/recipes/${slug})`, tried)),
  'key format': [row('Regular expression', `\`${keyPattern('twb')}\``), row('Checksum', CHECKSUM_RULE)],
};

test.each(Object.entries(TABLES))('the README has the %s as the code has them', (_, lines) => {
  expect(readme).toContain(lines.join('\n'));
});
