import { access, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { type Block, blocksOf, codesIn, type Part, partsOf } from '../../src/docs/blocks.ts';
import { ORIGIN, RECIPES } from '../../src/docs/recipes.ts';
import { MAX_TEXT_LENGTH } from '../../src/domain/fields.ts';

const SLUGS = ['n8n', 'make', 'zapier', 'power-automate', 'powershell', 'curl', 'node-red', 'typescript', 'python'];

test('there is a recipe for each tool', () => {
  expect(RECIPES.map(({ slug }) => slug)).toEqual(SLUGS);
});

/** The blocks of the part with this title; none if there is none. */
const partOf = (markdown: string, title: string): readonly Block[] =>
  partsOf(blocksOf(markdown), 2).find((part) => part.title === title)?.blocks ?? [];

describe.each(RECIPES)('the recipe for $tool', ({ slug, markdown }) => {
  const steps = partsOf(partOf(markdown, 'Steps'), 3);
  const [needs, failures, checked] = ['You need', 'When it fails', 'How this was checked'].map((title) =>
    partOf(markdown, title),
  );
  const textOf = (step: Part | undefined) => JSON.stringify(step);
  const codes = codesIn(blocksOf(markdown));
  const itemsOf = (blocks: readonly Block[] = []) =>
    blocks.flatMap((block) => (block.type === 'list' ? block.items.map(({ text }) => text.replaceAll('\n', ' ')) : []));

  test('begins with the address, has the ping before the first write, and ends with what success looks like', () => {
    const [first, ...others] = steps;
    expect(first?.title).toBe('Copy the address of this service');
    expect(JSON.stringify(codes[0])).toContain(ORIGIN);
    expect(first?.blocks).toContainEqual(codes[0]);
    const ping = others.findIndex(({ title }) => title === 'Ping');
    const write = others.findIndex((step) => textOf(step).includes('/time-entries') || step.title === 'Send one event');
    expect(ping).toBeGreaterThanOrEqual(0);
    if (write !== -1) expect(ping).toBeLessThan(write);
    expect(textOf(steps.at(-1))).toMatch(/See that it worked.*`201`.*\\"id\\".*Audit log/s);
  });

  test('says that the event id is never empty, and what happens if it is', () => {
    expect(steps.some((step) => /every event has.*invalid_idempotency_key/.test(textOf(step)))).toBe(true);
    const rows = (failures ?? []).flatMap((block) => (block.type === 'table' ? block.rows : []));
    expect(rows.some(([see]) => see?.text.includes('invalid_idempotency_key'))).toBe(true);
  });

  test('names a key and a ticket as needed, and says what was run and what was not', () => {
    expect(itemsOf(needs).some((need) => need.startsWith('A key with the scope'))).toBe(true);
    expect(itemsOf(needs).some((need) => need.startsWith('The id of a ticket'))).toBe(true);
    expect(itemsOf(checked).filter((sentence) => sentence.startsWith('Run: '))).toHaveLength(1);
    expect(itemsOf(checked).filter((sentence) => sentence.startsWith('Not run: '))).toHaveLength(1);
  });

  test('has no key in a command, and sends events to a webhook only with a token', () => {
    for (const { label, versions } of codes) {
      for (const { language, text } of versions) {
        if (!['bash', 'powershell'].includes(language)) continue;
        expect(text).not.toMatch(/Bearer (?!\$|"?\$)/);
        if (/^Send (the|another) event$/.test(label)) expect(text).toMatch(/\bTOKEN\b|\$TOKEN|\$token/);
      }
    }
  });

  test('has a unique label for each code, and each command in both shells', () => {
    const labels = codes.map(({ label }) => label);
    expect(labels).toEqual([...new Set(labels)]);
    for (const { versions } of codes) {
      const languages = versions.map(({ language }) => language);
      if (slug !== 'powershell' && /bash|powershell/.test(languages.join())) {
        expect(languages).toEqual(['bash', 'powershell']);
      } else expect(languages).toHaveLength(1);
    }
  });

  test('offers files that exist', async () => {
    const files = Array.from(JSON.stringify(blocksOf(markdown)).matchAll(DOWNLOAD));
    for (const [, file] of files) await access(`src/assets/docs/recipes/${file}`);
    expect(files.length > 0).toBe(['n8n', 'node-red', 'typescript'].includes(slug));
  });

  test('has a source and a date, if its tool was not run', () => {
    const [notRun = ''] = itemsOf(checked).filter((sentence) => sentence.startsWith('Not run: '));
    if (/account|n8n itself/.test(notRun))
      expect(itemsOf(checked).join('\n')).toMatch(/read on \d+ \w+ 20\d\d in a stored copy/);
  });
});

const DOWNLOAD = /"href":"\/docs\/recipes\/([\w-]+\.\w+)"/g;

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
