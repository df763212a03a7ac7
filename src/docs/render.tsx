import type { Child } from 'hono/jsx';
import type { Config } from '../config.ts';
import { Agents } from './agents-page.tsx';
import { describeApi } from './api-openapi.ts';
import { Home } from './home-page.tsx';
import { KeyFormat } from './key-format-page.tsx';
import { Problems } from './problems-page.tsx';
import { describePsa } from './psa-openapi.ts';
import { Psa } from './psa-page.tsx';
import { RecipePage, Recipes } from './recipe-pages.tsx';
import { ORIGIN, RECIPES } from './recipes.ts';
import { messagesOf, operationsOf } from './reference/contract.ts';
import { Reference } from './reference/reference-page.tsx';
import { WrongAddress } from './wrong-address-page.tsx';

const HOST = new URL(ORIGIN).host;
/** The origin that readers without script see if the operator has not set SERVICE_URL. */
const UNKNOWN_ORIGIN = 'https://YOUR-SERVICE';

/**
 * Renders the documentation pages, the page for a wrong address and both OpenAPI documents.
 * @param config as deployed: limits, key prefix and SERVICE_URL
 * @returns the contents by file name. `docs/keys.html` is served at `/docs/keys`.
 */
export async function renderDocs(config: Config): Promise<Map<string, string>> {
  const { serviceUrl = '' } = config;
  const home = <Home origin={ORIGIN} />;
  const operations = operationsOf(describeApi(config, ORIGIN));
  const messages = messagesOf(describePsa(ORIGIN));
  const recipes = RECIPES.map((recipe) => [`docs/recipes/${recipe.slug}`, <RecipePage recipe={recipe} />] as const);
  const pages: Record<string, Child> = {
    index: home,
    docs: home,
    'docs/reference': <Reference origin={ORIGIN} operations={operations} limits={config} />,
    'docs/problems': <Problems />,
    'docs/recipes': <Recipes />,
    ...Object.fromEntries(recipes),
    'docs/agents': <Agents origin={ORIGIN} />,
    'docs/psa': <Psa origin={ORIGIN} messages={messages} />,
    'docs/keys': <KeyFormat keyPrefixes={config.keyPrefixes} />,
    '404': <WrongAddress />,
  };
  const files = new Map([
    ['api/v1/openapi.json', JSON.stringify(describeApi(config, serviceUrl))],
    ['psa/openapi.json', JSON.stringify(describePsa(serviceUrl))],
  ]);
  for (const [name, page] of Object.entries(pages))
    files.set(`${name}.html`, withOrigin(String(await page), serviceUrl || UNKNOWN_ORIGIN));
  return files;
}

/**
 * Puts the origin of the service, and its host, into elements that the script of the page fills with
 * its own. Until then readers see `origin`.
 * @throws Error if an attribute has the origin
 */
function withOrigin(page: string, origin: string): string {
  if (/<[^>]*service\.invalid/.test(page)) throw new Error('an attribute of a page has the origin of the service');
  const host = origin.replaceAll(/^https?:\/\/|:\d+$/g, '');
  return page
    .replaceAll(ORIGIN, `<span data-origin="">${origin}</span>`)
    .replaceAll(HOST, `<span data-host="">${host}</span>`);
}
