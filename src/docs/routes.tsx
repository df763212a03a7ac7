import { Hono } from 'hono';
import type { AppEnv } from '../http/context.ts';
import { forLatestOrigin } from '../http/for-latest-origin.ts';
import { securePages } from '../http/middleware/secure-pages.ts';
import { READ_ONLY_CSP } from '../http/page/csp.ts';
import { Agents } from './agents-page.tsx';
import { Home } from './home-page.tsx';
import { KeyFormat } from './key-format-page.tsx';
import { Problems } from './problems-page.tsx';
import { Psa } from './psa-page.tsx';
import { RecipePage, Recipes } from './recipe-pages.tsx';
import { RECIPES } from './recipes.ts';
import { messagesOf, operationsOf } from './reference/contract.ts';
import { Reference } from './reference/reference-page.tsx';

const originOf = (url: string) => new URL(url).origin;

const secure = securePages(READ_ONLY_CSP, 'no-referrer');

/** The OpenAPI documents at an origin: of the API, and of the interface for the PSA. */
interface Contracts {
  api: (origin: string) => object;
  psa: (origin: string) => object;
}

/** The documentation pages. They are public and do not access the database. */
export function createDocs({ api, psa }: Contracts) {
  const operations = forLatestOrigin((origin) => operationsOf(api(origin)));
  const messages = forLatestOrigin((origin) => messagesOf(psa(origin)));
  return new Hono<AppEnv>()
    .get('/', secure, (c) => c.html(<Home origin={originOf(c.req.url)} />))
    .get('/docs', secure, (c) => c.html(<Home origin={originOf(c.req.url)} />))
    .get('/docs/reference', secure, (c) => {
      const origin = originOf(c.req.url);
      return c.html(<Reference origin={origin} operations={operations(origin)} limits={c.get('config')} />);
    })
    .get('/docs/problems', secure, (c) => c.html(<Problems />))
    .get('/docs/recipes', secure, (c) => c.html(<Recipes />))
    .get('/docs/recipes/:slug', secure, (c) => {
      const recipe = RECIPES.find(({ slug }) => slug === c.req.param('slug'));
      return recipe ? c.html(<RecipePage recipe={recipe} origin={originOf(c.req.url)} />) : c.notFound();
    })
    .get('/docs/agents', secure, (c) => c.html(<Agents origin={originOf(c.req.url)} />))
    .get('/docs/psa', secure, (c) => {
      const origin = originOf(c.req.url);
      return c.html(
        <Psa
          origin={origin}
          messages={messages(origin)}
          isOn={c.get('parts').some(({ routes }) => routes?.path === '/psa')}
        />,
      );
    })
    .get('/docs/keys', secure, (c) => c.html(<KeyFormat keyPrefix={c.get('config').keyPrefix} />));
}
