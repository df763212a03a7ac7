import { Lexer, type Token, type Tokens } from 'marked';

/** The Markdown that a file may contain, in addition to headings that divide it into parts. */
export type Block = Tokens.Heading | Tokens.Paragraph | Tokens.List | Tokens.Table | CodeBlock;

/** Something to copy: adjacent code blocks with the same label, such as a command in both shells. */
export interface CodeBlock {
  type: 'code';
  /** Unique in a file: the words after the language, as in "```bash Send the event". */
  label: string;
  versions: { language: string; text: string }[];
}

/** A heading, and the blocks up to the next heading of its level. */
export interface Part {
  title: string;
  blocks: Block[];
}

/** @throws Error if the text has Markdown that the pages do not show */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  for (const token of Lexer.lex(markdown)) {
    if (token.type === 'space') continue;
    if (!isKnown(token)) throw new Error(`The pages show no ${token.type}: ${token.raw}`);
    if (token.type !== 'code') blocks.push(token);
    else addCode(blocks, token);
  }
  return blocks;
}

const KNOWN = ['heading', 'paragraph', 'list', 'table', 'code'];

function isKnown(token: Token): token is Exclude<Block, CodeBlock> | Tokens.Code {
  return KNOWN.includes(token.type);
}

function addCode(blocks: Block[], { lang = '', text, raw }: Tokens.Code): void {
  const [, language, label] = /^(\w+) (.+)$/.exec(lang) ?? [];
  if (language === undefined || label === undefined) throw new Error(`Name the language and a label: ${raw}`);
  const last = blocks.at(-1);
  if (last?.type === 'code' && last.label === label) last.versions.push({ language, text });
  else blocks.push({ type: 'code', label, versions: [{ language, text }] });
}

/** The parts that headings of this level begin. */
export function partsOf(blocks: readonly Block[], depth: number): Part[] {
  const parts: Part[] = [];
  for (const block of blocks) {
    if (block.type === 'heading' && block.depth === depth) parts.push({ title: block.text, blocks: [] });
    else parts.at(-1)?.blocks.push(block);
  }
  return parts;
}
