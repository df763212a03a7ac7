import { Hono } from 'hono';
import type { AppEnv } from '../context.ts';
import { securePages } from '../middleware/secure-pages.ts';
import { Agents } from './agents-page.tsx';
import { Home, Keys, Problems, RecipePage, Recipes, Reference } from './pages.tsx';
import { Psa } from './psa-page.tsx';
import { RECIPES } from './recipes.ts';

/** Allows resources from this origin only, no script, and no framing. */
const POLICY = {
  defaultSrc: ["'none'"],
  styleSrc: ["'self'"],
  imgSrc: ["'self'"],
  baseUri: ["'none'"],
  formAction: ["'none'"],
  frameAncestors: ["'none'"],
};
/** Swagger UI also needs scripts, inline styles, `data:` images, and requests to the API. */
const REFERENCE_POLICY = {
  ...POLICY,
  scriptSrc: ["'self'"],
  styleSrc: ["'self'", "'unsafe-inline'"],
  imgSrc: ["'self'", 'data:'],
  connectSrc: ["'self'"],
};

const originOf = (url: string) => new URL(url).origin;

/** The documentation pages. They are public and do not access the database. */
export const docs = new Hono<AppEnv>()
  .get('/', securePages(POLICY, 'no-referrer'), (c) => c.html(<Home origin={originOf(c.req.url)} />))
  .get('/docs', securePages(REFERENCE_POLICY, 'no-referrer'), (c) =>
    c.html(<Reference origin={originOf(c.req.url)} limits={c.get('config')} />),
  )
  .get('/docs/problems', securePages(POLICY, 'no-referrer'), (c) => c.html(<Problems />))
  .get('/docs/recipes', securePages(POLICY, 'no-referrer'), (c) => c.html(<Recipes />))
  .get('/docs/recipes/:slug', securePages(POLICY, 'no-referrer'), (c) => {
    const recipe = RECIPES.find(({ slug }) => slug === c.req.param('slug'));
    return recipe ? c.html(<RecipePage recipe={recipe} origin={originOf(c.req.url)} />) : c.notFound();
  })
  .get('/docs/agents', securePages(POLICY, 'no-referrer'), (c) =>
    c.html(<Agents origin={originOf(c.req.url)} isOn={c.get('config').mcp !== undefined} />),
  )
  .get('/docs/psa', securePages(POLICY, 'no-referrer'), (c) =>
    c.html(<Psa origin={originOf(c.req.url)} isOn={c.get('config').psaSecrets.length > 0} />),
  )
  .get('/docs/keys', securePages(POLICY, 'no-referrer'), (c) => c.html(<Keys keyPrefix={c.get('config').keyPrefix} />));
