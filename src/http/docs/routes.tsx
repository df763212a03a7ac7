import { Hono } from 'hono';
import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../../env.ts';
import { Home, Keys, Problems, RecipePage, Recipes, Reference } from './pages.tsx';
import { RECIPES } from './recipes.ts';

const POLICY = {
  'default-src': "'none'",
  'style-src': "'self'",
  'img-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};
/** The library of the reference page puts styles into its elements and pictures into data: addresses; and it calls the API. */
const REFERENCE_POLICY = {
  ...POLICY,
  'script-src': "'self'",
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
};

/** Sends a Content-Security-Policy with the page. */
const withPolicy = (policy: Record<string, string>) => {
  const value = Object.entries(policy)
    .map((directive) => directive.join(' '))
    .join('; ');
  return createMiddleware<AppEnv>(async function withPolicy(c, next) {
    await next();
    c.header('Content-Security-Policy', value);
    c.header('Referrer-Policy', 'no-referrer');
  });
};

const originOf = (url: string) => new URL(url).origin;

/** The pages for those who build automations. They say nothing that is not public, and ask nothing of the database. */
export const docs = new Hono<AppEnv>()
  .get('/', withPolicy(POLICY), (c) => c.html(<Home origin={originOf(c.req.url)} />))
  .get('/docs', withPolicy(REFERENCE_POLICY), (c) => c.html(<Reference />))
  .get('/docs/problems', withPolicy(POLICY), (c) => c.html(<Problems />))
  .get('/docs/recipes', withPolicy(POLICY), (c) => c.html(<Recipes />))
  .get('/docs/recipes/:slug', withPolicy(POLICY), (c) => {
    const recipe = RECIPES.find(({ slug }) => slug === c.req.param('slug'));
    return recipe ? c.html(<RecipePage recipe={recipe} origin={originOf(c.req.url)} />) : c.notFound();
  })
  .get('/docs/keys', withPolicy(POLICY), (c) => c.html(<Keys keyPrefix={c.get('settings').keyPrefix} />));
