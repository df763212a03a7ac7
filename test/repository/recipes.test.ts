import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type Block, blocksOf, codesIn, type Section, sectionsOf } from '../../src/docs/blocks.ts';
import { RECIPES } from '../../src/docs/recipes.ts';
import { MAX_TEXT_LENGTH } from '../../src/domain/fields.ts';
import { noteRequest, timeEntryRequest } from '../../src/domain/record-kinds.ts';
import { noteResult, timeEntryResult } from '../../src/domain/response-shapes.ts';

/** The blocks of the section with this title; none if there is none. */
const sectionOf = (markdown: string, title: string): readonly Block[] =>
  sectionsOf(blocksOf(markdown), 2).find((section) => section.title === title)?.blocks ?? [];

/** Tools whose readers never open a terminal. */
const WITHOUT_TERMINAL = ['n8n', 'make', 'zapier', 'power-automate'];

describe.each(RECIPES)('the recipe for $tool', ({ slug, markdown }) => {
  const [first, later] = ['First note', 'From your real event'].map((title) =>
    sectionsOf(sectionOf(markdown, title), 3),
  );
  const codes = codesIn(blocksOf(markdown));
  const codesOf = (section: readonly Section[] = []) =>
    JSON.stringify(section.flatMap(({ blocks }) => codesIn(blocks)));

  test('begins with a dry run', () => {
    const codes = codesOf(first);
    expect(codes.indexOf('/notes/dry-run')).toBeGreaterThan(0);
    expect(codes.indexOf('/notes')).toBe(codes.indexOf('/notes/dry-run'));
  });

  test('writes notes and time entries from the event, and explains the event id', () => {
    const tabs = blocksOf(markdown).flatMap((block) => (block.type === 'tabs' ? [block.tabs] : []));
    for (const group of tabs) expect(group.map(({ title }) => title)).toEqual(['Note', 'Time entry']);
    expect(tabs.length > 0).toBe(slug !== 'n8n');
    expect(JSON.stringify(later)).toMatch(/every event has.*invalid_idempotency_key/);
    expect(JSON.stringify(sectionOf(markdown, 'When it fails'))).toContain('invalid_idempotency_key');
  });

  test('fails the run when an event id was used before: each request prefers strict handling', () => {
    for (const { text } of codes.flatMap(({ versions }) => versions))
      if (/Idempotency-Key["']? ?[:=]/.test(text)) expect(text).toMatch(/Prefer.*handling=strict/);
    if (['make', 'zapier', 'power-automate'].includes(slug))
      expect(markdown).toMatch(/`Prefer` (?:with|and) the value `handling=strict`/);
  });

  test('contains no key, no constant event id and no ticket id in a command', () => {
    for (const { text } of codes.flatMap(({ versions }) => versions)) {
      expect(text).not.toMatch(/Bearer (?!\$|"?\$|\{)/);
      expect(text).not.toMatch(/(triage:|evt-)[a-z]*-?\d/);
      if (/bash|curl /.test(text) && !WITHOUT_TERMINAL.includes(slug)) expect(text).not.toMatch(/tickets\/1001/);
    }
  });

  test('labels each code uniquely, shows each command in both shells, and only if the tool has a terminal', () => {
    const labels = codes.map(({ label }) => label);
    expect(labels).toEqual([...new Set(labels)]);
    for (const { versions } of codes) {
      const languages = versions.map(({ language }) => language);
      if (slug !== 'powershell' && /bash|powershell/.test(languages.join())) {
        expect(WITHOUT_TERMINAL).not.toContain(slug);
        expect(languages).toEqual(['bash', 'powershell']);
      } else expect(languages).toHaveLength(1);
    }
  });
});

test('the examples of responses are responses of the API, and the examples of events have their fields', () => {
  const event = { eventId: z.string(), ticketId: z.string(), token: z.string().optional(), log: z.string().optional() };
  const shapes: [RegExp, z.core.$ZodType][] = [
    [/^Example of a note$/, noteResult],
    [/^Example of a time entry$/, timeEntryResult],
    [/^(Sample of a|Body of the first) note$/, noteRequest],
    [/^Sample of a time entry$/, timeEntryRequest],
    [/^Event( for a time entry)?$/, z.strictObject({ ...event, ...timeEntryRequest.shape })],
    [/^Event for a note$/, z.strictObject({ ...event, ...noteRequest.shape })],
  ];
  const examples = RECIPES.flatMap(({ markdown }) => codesIn(blocksOf(markdown))).flatMap(({ label, versions }) =>
    versions.filter(({ language }) => language === 'json').map(({ text }) => [label, JSON.parse(text)] as const),
  );
  for (const [label, example] of examples) {
    const shape = shapes.find(([labels]) => labels.test(label))?.[1];
    expect([label, shape && z.safeParse(shape, example)]).toEqual([
      label,
      expect.objectContaining({ success: true, data: example }),
    ]);
  }
});

test.each(['recipes/curl', 'recipes/python', 'recipes/zapier', 'pages/recipes'])(
  '%s.md cuts a text to the length that the service accepts',
  async (name) => {
    const markdown = await readFile(`src/docs/${name}.md`, 'utf8');
    const lengths = markdown.matchAll(/slice\(0, (\d+)\)|\[0?:(\d+)\]|([\d,]+) characters/g);
    const numbers = Array.from(lengths, (match) => Number(match.slice(1).join('').replace(',', '')));
    expect([...new Set(numbers)]).toEqual([MAX_TEXT_LENGTH]);
  },
);

test.each([
  ['Markdown that the pages do not show', '> quoted', 'The pages show no blockquote'],
  ['HTML', '<div>bold</div>', 'The pages show no'],
  ['code without a label', '```bash\nls\n```', 'Name the language and a label'],
  ['code without a language', '```\nls\n```', 'Name the language and a label'],
])('a recipe with %s fails the build', (_, markdown, message) => {
  expect(() => blocksOf(markdown)).toThrow(message);
});
