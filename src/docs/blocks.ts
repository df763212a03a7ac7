import { Lexer, type Token, type Tokens } from 'marked';

/** Texts by the name at which a page includes them: `<!-- include: name -->`. */
export type Includes = Readonly<Record<string, string>>;

/** @throws Error if the page includes a text that is not there */
export function withIncludes(markdown: string, includes: Includes): string {
  return markdown.replaceAll(/<!-- include: (.+?) -->/g, (_, name: string) => {
    const text = includes[name];
    if (text === undefined) throw new Error(`There is no text to include as ${name}`);
    return text;
  });
}

/** The texts below the headings of level 2, by the heading. */
export const partsOf = (markdown: string): Includes =>
  Object.fromEntries(
    markdown.split(/^## /m).map((part) => {
      const [name = '', ...lines] = part.split('\n');
      return [name, lines.join('\n').trim()];
    }),
  );

export type Block = Heading | Tokens.Paragraph | Tokens.List | Tokens.Table | CodeBlock | TabsBlock | Insert;

interface Heading {
  type: 'heading';
  depth: number;
  text: string;
  /** The address on the page: the words of the heading, or `id` as in `## Title <!-- #id -->`. */
  id: string;
}

/** Something to copy: adjacent code blocks with the same label, such as a command in both shells. */
export interface CodeBlock {
  type: 'code';
  /** Unique in a file: the words after the language, as in "```bash Send the event". */
  label: string;
  versions: { language: string; text: string }[];
}

/**
 * Blocks of which the reader sees one at a time, from `<!-- tab: Note -->` to `<!-- end -->`, or that are folded, from
 * `<!-- fold: Fields -->` to `<!-- end -->`.
 */
interface TabsBlock {
  type: 'tabs' | 'fold';
  /** Unique in a file. */
  id: string;
  tabs: { title: string; blocks: Block[] }[];
}

/** A component that the page provides, at `<!-- insert: name -->`. */
interface Insert {
  type: 'insert';
  name: string;
}

/** A heading, and the blocks up to the next heading of its level. */
export interface Section {
  title: string;
  id: string;
  blocks: Block[];
}

/** @throws Error if the text has Markdown that the pages do not show */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  let tabs: TabsBlock | undefined;
  for (const token of Lexer.lex(markdown)) {
    if (token.type === 'space') continue;
    if (!isKnown(token)) throw new Error(`The pages show no ${token.type}: ${token.raw}`);
    const place = tabs?.tabs.at(-1)?.blocks ?? blocks;
    if (token.type === 'code') addCode(place, token);
    else if (token.type === 'heading') place.push(headingOf(token));
    else if (token.type !== 'html') place.push(token);
    else {
      const [, command, name = ''] = /^<!-- (insert|tab|fold|end)(?:: (.+))? -->\s*$/.exec(token.raw) ?? [];
      if (command === undefined) throw new Error(`The pages show no HTML: ${token.raw}`);
      if (command === 'insert') place.push({ type: 'insert', name });
      else if (command === 'end') tabs = undefined;
      else {
        tabs ??= startTabs(blocks, command);
        tabs.tabs.push({ title: name, blocks: [] });
      }
    }
  }
  return blocks;
}

const KNOWN = ['heading', 'paragraph', 'list', 'table', 'code', 'html'];
type Known = Tokens.Heading | Tokens.Paragraph | Tokens.List | Tokens.Table | Tokens.Code | Tokens.HTML;

function isKnown(token: Token): token is Known {
  return KNOWN.includes(token.type);
}

function headingOf({ depth, text }: Tokens.Heading): Heading {
  const [, title = text, id = idOf(text)] = /^(.*) <!-- #([\w.-]+) -->$/.exec(text) ?? [];
  return { type: 'heading', depth, text: title, id };
}

/** Words as a part of an id: `see-that-it-worked`. */
export const idOf = (words: string) => words.toLowerCase().replaceAll(/\W+/g, '-').replace(/-$/, '');

function startTabs(blocks: Block[], command: string): TabsBlock {
  const type = command === 'tab' ? 'tabs' : 'fold';
  const tabs: TabsBlock = { type, id: `tabs-${blocks.length}`, tabs: [] };
  blocks.push(tabs);
  return tabs;
}

function addCode(blocks: Block[], { lang = '', text, raw }: Tokens.Code): void {
  const [, language, label] = /^(\w+) (.+)$/.exec(lang) ?? [];
  if (language === undefined || label === undefined) throw new Error(`Name the language and a label: ${raw}`);
  const last = blocks.at(-1);
  if (last?.type === 'code' && last.label === label) last.versions.push({ language, text });
  else blocks.push({ type: 'code', label, versions: [{ language, text }] });
}

export function sectionsOf(blocks: readonly Block[], depth: number): Section[] {
  const sections: Section[] = [];
  for (const block of blocks) {
    if (block.type === 'heading' && block.depth === depth)
      sections.push({ title: block.text, id: block.id, blocks: [] });
    else sections.at(-1)?.blocks.push(block);
  }
  return sections;
}

export const codesIn = (blocks: readonly Block[]): CodeBlock[] =>
  blocks.flatMap((block) => {
    if (block.type === 'tabs' || block.type === 'fold') return block.tabs.flatMap((tab) => codesIn(tab.blocks));
    return block.type === 'code' ? block : [];
  });
