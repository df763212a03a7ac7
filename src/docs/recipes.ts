import { partsOf } from './blocks.ts';
import common from './recipes/common.md?raw';
import curl from './recipes/curl.md?raw';
import make from './recipes/make.md?raw';
import n8n from './recipes/n8n.md?raw';
import nodeRed from './recipes/node-red.md?raw';
import powerAutomate from './recipes/power-automate.md?raw';
import powerShell from './recipes/powershell.md?raw';
import python from './recipes/python.md?raw';
import typescript from './recipes/typescript.md?raw';
import zapier from './recipes/zapier.md?raw';

/** The address of the service in the recipes and all pages, until `renderDocs` replaces it. */
export const ORIGIN = 'https://service.invalid';

interface Recipe {
  slug: string;
  tool: string;
  markdown: string;
}

const COMMON = partsOf(common);

/** Puts the common parts in place of the lines that link to them. @throws Error if one is not there */
const withCommonParts = (text: string) =>
  text.replaceAll(/^.*\]\(common\.md#([\w-]+)\).*$/gm, (_, name: string) => {
    const part = COMMON[name];
    if (part === undefined) throw new Error(`There is no common part ${name}`);
    return part;
  });

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

function recipe(slug: string, text: string): Recipe {
  const markdown = withCommonParts(text);
  const [, tool] = /^# Write back from (.+)\n/.exec(markdown) ?? [];
  if (tool === undefined) throw new Error(`The recipe ${slug} has no title`);
  return { slug, tool, markdown };
}
