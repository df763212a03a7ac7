import { curl } from './recipes/curl.ts';
import { make } from './recipes/make.ts';
import { n8n } from './recipes/n8n.ts';
import { nodeRed } from './recipes/node-red.ts';
import { powerAutomate } from './recipes/power-automate.ts';
import { powerShell } from './recipes/powershell.ts';
import { python } from './recipes/python.ts';
import type { Recipe } from './recipes/recipe.ts';
import { typescript } from './recipes/typescript.ts';
import { zapier } from './recipes/zapier.ts';

/** How to call the API from each tool, in the order of the pages. */
export const RECIPES: readonly Recipe[] = [
  n8n,
  make,
  zapier,
  powerAutomate,
  powerShell,
  curl,
  nodeRed,
  typescript,
  python,
];
