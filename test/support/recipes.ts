import type { Commands, Snippet, Step } from '../../src/docs/recipes/recipe.ts';
import { RECIPES } from '../../src/docs/recipes.ts';

/** The steps of a recipe, as the page for this origin shows them. */
export function stepsOf(slug: string, origin: string): readonly Step[] {
  const recipe = RECIPES.find((one) => one.slug === slug);
  if (!recipe) throw new Error(`no recipe ${slug}`);
  return recipe.steps(origin);
}

/** Everything that a recipe gives to copy, in its order. */
export const codesOf = (slug: string, origin: string): (Snippet | Commands)[] =>
  stepsOf(slug, origin).flatMap(({ code }) => code ?? []);

/** The text to copy with this label. */
export function snippetOf(slug: string, origin: string, label: string): string {
  const found = codesOf(slug, origin).find((code) => code.label === label);
  if (!found || !('text' in found)) throw new Error(`no text ${label} in ${slug}`);
  return found.text;
}

/** The commands for bash up to this label, as a reader copies them one after the other. */
export function bashUpTo(slug: string, origin: string, label: string): string {
  const commands = codesOf(slug, origin).flatMap((code) => ('bash' in code ? [code] : []));
  const last = commands.findIndex((command) => command.label === label);
  if (last === -1) throw new Error(`no command ${label} in ${slug}`);
  return ['set -e', ...commands.slice(0, last + 1).map(({ bash }) => bash)].join('\n');
}
