import { type Block, blocksOf, type Part, partsOf } from './blocks.ts';
import common from './recipes/common.md?raw';
import curl from './recipes/curl.md?raw';
import make from './recipes/make.md?raw';
import n8n from './recipes/n8n.md?raw';
import nodeRed from './recipes/node-red.md?raw';
import powerAutomate from './recipes/power-automate.md?raw';
import powerShell from './recipes/powershell.md?raw';
import python from './recipes/python.md?raw';
import rules from './recipes/rules.md?raw';
import typescript from './recipes/typescript.md?raw';
import zapier from './recipes/zapier.md?raw';

/** The address of the service in the recipes and all pages, until `renderDocs` replaces it. */
export const ORIGIN = 'https://service.invalid';

/** How to call the API from one tool. */
export interface Recipe {
  slug: string;
  tool: string;
  /** Where the reader starts and ends, and the versions of the tool. */
  lead: string;
  /** What the reader needs before the first step. */
  needs: readonly Block[];
  /** Each is one action of the reader. */
  steps: readonly Part[];
  /** What can go wrong, and which failed requests the tool sends again. */
  failures: readonly Block[];
  /** What was run, what was not, and where the rest comes from. */
  checked: readonly Block[];
}

/** The texts that several recipes share, by name. */
const COMMON = new Map(
  common.split(/^## /m).map((part) => {
    const [name = '', ...lines] = part.split('\n');
    return [name, lines.join('\n').trim()] as const;
  }),
);

/** How to call the API from each tool, in the order of the pages. */
export const RECIPES: readonly Recipe[] = [
  recipe('n8n', n8n),
  recipe('make', make),
  recipe('zapier', zapier),
  recipe('power-automate', powerAutomate),
  recipe('powershell', powerShell),
  recipe('curl', curl),
  recipe('node-red', nodeRed),
  recipe('typescript', typescript),
  recipe('python', python),
];

/** Frequent mistakes, with the rule that avoids each of them, for every tool. */
export const RULES = partOf(partsOf(blocksOf(rules), 1), 'Rules for every tool');

function recipe(slug: string, markdown: string): Recipe {
  const [page] = partsOf(blocksOf(withCommonTexts(markdown)), 1);
  const [lead] = page?.blocks ?? [];
  if (!page || lead?.type !== 'paragraph') throw new Error(`The recipe ${slug} has no title or no lead`);
  const parts = partsOf(page.blocks, 2);
  return {
    slug,
    tool: page.title,
    lead: lead.text,
    needs: partOf(parts, 'You need'),
    steps: partsOf(partOf(parts, 'Steps'), 3),
    failures: partOf(parts, 'When it fails'),
    checked: partOf(parts, 'How this was checked'),
  };
}

function partOf(parts: readonly Part[], title: string): readonly Block[] {
  const part = parts.find((one) => one.title === title);
  if (!part) throw new Error(`No part is called ${title}`);
  return part.blocks;
}

/** Puts the texts of common.md, each under its heading there, where the recipe includes them. */
function withCommonTexts(markdown: string): string {
  return markdown.replaceAll(/<!-- include: (.+) -->/g, (_, name: string) => {
    const text = COMMON.get(name);
    if (text === undefined) throw new Error(`common.md has no part ${name}`);
    return text;
  });
}
