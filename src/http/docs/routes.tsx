import { Hono } from 'hono';
import type { AppEnv } from '../context.ts';
import { securePages } from '../middleware/secure-pages.ts';
import { READ_ONLY_POLICY } from '../page/policy.ts';
import { Agents } from './agents-page.tsx';
import { Home } from './home-page.tsx';
import { KeyFormat } from './key-format-page.tsx';
import { Problems } from './problems-page.tsx';
import { Psa } from './psa-page.tsx';
import { RecipePage, Recipes } from './recipe-pages.tsx';
import { RECIPES } from './recipes.ts';
import { Reference } from './reference/reference-page.tsx';

const originOf = (url: string) => new URL(url).origin;

const secure = securePages(READ_ONLY_POLICY, 'no-referrer');

/**
 * The documentation pages. They are public and do not access the database. `describeApi` is the
 * OpenAPI document of the API at an origin.
 */
export const createDocs = (describeApi: (origin: string) => object) =>
  new Hono<AppEnv>()
    .get('/', secure, (c) => c.html(<Home origin={originOf(c.req.url)} />))
    .get('/docs', secure, (c) => c.html(<Home origin={originOf(c.req.url)} />))
    .get('/docs/reference', secure, (c) => {
      const origin = originOf(c.req.url);
      return c.html(<Reference origin={origin} contract={describeApi(origin)} limits={c.get('config')} />);
    })
    .get('/docs/problems', secure, (c) => c.html(<Problems />))
    .get('/docs/recipes', secure, (c) => c.html(<Recipes />))
    .get('/docs/recipes/:slug', secure, (c) => {
      const recipe = RECIPES.find(({ slug }) => slug === c.req.param('slug'));
      return recipe ? c.html(<RecipePage recipe={recipe} origin={originOf(c.req.url)} />) : c.notFound();
    })
    .get('/docs/agents', secure, (c) =>
      c.html(<Agents origin={originOf(c.req.url)} isOn={c.get('config').mcp !== undefined} />),
    )
    .get('/docs/psa', secure, (c) =>
      c.html(<Psa origin={originOf(c.req.url)} isOn={c.get('config').psaSecrets.length > 0} />),
    )
    .get('/docs/keys', secure, (c) => c.html(<KeyFormat keyPrefix={c.get('config').keyPrefix} />));
