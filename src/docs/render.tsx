import type { Child } from 'hono/jsx';
import receiverCs from '../assets/docs/psa/Receiver.cs?raw';
import receiverMjs from '../assets/docs/psa/receiver.mjs?raw';
import receiverPhp from '../assets/docs/psa/receiver.php?raw';
import receiverPy from '../assets/docs/psa/receiver.py?raw';
import keyExpiring from '../assets/docs/psa/samples/alert-key-expiring.json';
import firstUpsert from '../assets/docs/psa/samples/first-upsert.json';
import noteCreated from '../assets/docs/psa/samples/note-created.json';
import type { Config } from '../config.ts';
import { describeApi } from './api-openapi.ts';
import { ERROR_INCLUDES } from './errors.ts';
import { Home } from './home-page.tsx';
import { type Includes, withIncludes } from './includes.ts';
import { keyPattern } from './key-format.ts';
import { type Inserts, MarkdownPage } from './markdown.tsx';
import { NewToken } from './new-token.tsx';
import agents from './pages/agents.md?raw';
import concepts from './pages/concepts.md?raw';
import errors from './pages/errors.md?raw';
import keys from './pages/keys.md?raw';
import psa from './pages/psa.md?raw';
import psaCalls from './pages/psa-calls.md?raw';
import recipes from './pages/recipes.md?raw';
import { alertRows, Calls, psaErrorRows } from './psa-calls.tsx';
import { describePsa } from './psa-openapi.ts';
import { ORIGIN, RECIPES } from './recipes.ts';
import { messagesOf, operationsOf } from './reference/contract.ts';
import { Reference } from './reference/reference-page.tsx';
import { ToolTiles } from './tiles.tsx';
import { WrongAddress } from './wrong-address-page.tsx';

const HOST = new URL(ORIGIN).host;
/** The origin that readers without script see if the operator has not set SERVICE_URL. */
const UNKNOWN_ORIGIN = 'https://YOUR-SERVICE';

const json = (value: unknown) => JSON.stringify(value, null, 2);

/** Files that pages show. */
const FILES: Includes = {
  'first-upsert.json': json(firstUpsert),
  'note-created.json': json(noteCreated),
  'alert-key-expiring.json': json(keyExpiring),
  'receiver.mjs': receiverMjs.trim(),
  'receiver.php': receiverPhp.trim(),
  'receiver.py': receiverPy.trim(),
  'Receiver.cs': receiverCs.trim(),
};

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
  const includes: Includes = {
    ...FILES,
    ...ERROR_INCLUDES,
    'key-pattern': keyPattern(config.keyPrefixes),
    'psa-errors': psaErrorRows,
    'alert-types': alertRows,
  };
  const page = (path: string, markdown: string, inserts: Inserts = {}, isWide = false) =>
    [
      path.slice(1),
      <MarkdownPage path={path} markdown={withIncludes(markdown, includes)} inserts={inserts} isWide={isWide} />,
    ] as const;
  const pages: Record<string, Child> = {
    index: home,
    docs: home,
    'docs/reference': <Reference origin={ORIGIN} operations={operations} limits={config} />,
    ...Object.fromEntries([
      page('/docs/concepts', concepts),
      page('/docs/errors', errors, {}, true),
      page('/docs/recipes', recipes, { tools: <ToolTiles hasLead /> }),
      ...RECIPES.map(({ slug, markdown }) => page(`/docs/recipes/${slug}`, markdown, { token: <NewToken /> })),
      page('/docs/agents', agents),
      page('/docs/psa', psa),
      page('/docs/psa/calls', psaCalls, { calls: <Calls messages={messages} /> }, true),
      page('/docs/keys', keys),
    ]),
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

/** Placeholders that the script of the page replaces by random characters, and when. */
const RANDOM: Readonly<Record<string, string>> = { 'REPLACE-ME': 'view', 'WEBHOOK-TOKEN': 'button' };

/**
 * Puts the origin of the service, its host, and placeholders for random values into elements that the
 * script of the page fills. Until then readers see `origin` and the placeholders.
 * @throws Error if an attribute contains the origin
 */
function withOrigin(page: string, origin: string): string {
  if (/<[^>]*service\.invalid/.test(page)) throw new Error('an attribute of a page contains the origin of the service');
  const host = origin.replaceAll(/^https?:\/\/|:\d+$/g, '');
  return page
    .replaceAll(ORIGIN, `<span data-origin="">${origin}</span>`)
    .replaceAll(HOST, `<span data-host="">${host}</span>`)
    .replaceAll(/REPLACE-ME|WEBHOOK-TOKEN/g, (text) => `<span data-random="${RANDOM[text]}">${text}</span>`);
}
