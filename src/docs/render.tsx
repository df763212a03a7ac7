import type { Child } from 'hono/jsx';
import changelog from '../../CHANGELOG.md?raw';
import { type Config, parseConfig } from '../config.ts';
import { limitsInWords } from '../domain/day-limit.ts';
import type { SecurityContact } from '../domain/security-contact.ts';
import { withoutDeleted } from './adapters.ts';
import { describeApi } from './api-openapi.ts';
import { blocksOf, withIncludes } from './blocks.ts';
import { Loop, NewToken, TryPing } from './inserts.tsx';
import { keyPattern } from './key-format.ts';
import { Page } from './layout.tsx';
import { Markdown, MarkdownPage, readable } from './markdown.tsx';
import type { MarkdownSource } from './module.ts';
import { DOCUMENTS, MESSAGES, MODULE_PAGES, MODULE_READERS } from './modules.ts';
import { pathOfFile } from './navigation.tsx';
import administrators from './pages/administrators.md?raw';
import concepts from './pages/concepts.md?raw';
import data from './pages/data.md?raw';
import errors from './pages/errors.md?raw';
import home from './pages/home.md?raw';
import keys from './pages/keys.md?raw';
import limits from './pages/limits.md?raw';
import loop from './pages/loop.md?raw';
import recipes from './pages/recipes.md?raw';
import reference from './pages/reference.md?raw';
import wrongAddress from './pages/wrong-address.md?raw';
import { ORIGIN, RECIPES } from './recipes.ts';
import { errorExamples } from './responses.ts';

const HOST = new URL(ORIGIN).host;
/** The origin that readers without script see if the operator has not set SERVICE_URL. */
const UNKNOWN_ORIGIN = 'https://YOUR-SERVICE';

/** A page as HTML, and as Markdown for assistants. */
interface Rendered {
  path: string;
  html: Child;
  markdown: string;
}

/** Relative links lead to files of the repository: here, to their pages. */
function withSiteLinks(markdown: string): string {
  return markdown.replaceAll(/\]\((?![/#]|[a-z]+:)([^)#\s]+)/g, (_, file: string) => `](${pathOfFile(file)}`);
}

/** A page with a text as deployed instead of the text of the defaults, which the source has. @throws Error if it has not */
function asDeployed(markdown: string, inWords: (config: Config) => string, config: Config): string {
  const written = inWords(parseConfig({}));
  if (!markdown.includes(written)) throw new Error(`A page lacks the text: ${written}`);
  return markdown.replaceAll(written, inWords(config));
}

/** The steps of the drawing, a list in the source. */
const [loopSteps = ''] = /^(?:\d\. .+\n)+/m.exec(loop) ?? [];

/** The Worker sends it to browsers, with the status 404. */
const wrongAddressPage = (
  <Page title="Nothing here">
    <p>
      There is no page at <strong data-asked>this address</strong>. Search the documentation, or continue with one of
      these:
    </p>
    <Markdown blocks={blocksOf(withSiteLinks(wrongAddress))} />
  </Page>
);

/**
 * Renders pages as HTML and Markdown, the index of the search, `llms.txt`, `security.txt` and the OpenAPI
 * documents, by file name: `docs/keys.html` is served at `/docs/keys`.
 */
export async function renderDocs(config: Config): Promise<Map<string, string>> {
  const { serviceUrl = '' } = config;
  function page(source: MarkdownSource): Rendered {
    const { path, inserts = {} } = source;
    const markdown = withSiteLinks(withoutDeleted(source.markdown));
    const withInserts = markdown.replaceAll(/<!-- insert: (.+) -->/g, (_, name: string) => inserts[name]?.[1] ?? '');
    return {
      path,
      html: <MarkdownPage {...source} markdown={markdown} />,
      markdown: readable(withInserts),
    };
  }
  const pages: readonly Rendered[] = [
    page({ path: '/docs', markdown: withIncludes(home, { readers: MODULE_READERS }) }),
    page({
      path: '/docs/loop',
      markdown: loop.replace(loopSteps, '<!-- insert: loop -->\n'),
      inserts: { loop: [<Loop steps={loopSteps} />, loopSteps.trim()] },
    }),
    page({ path: '/docs/concepts', markdown: concepts }),
    page({ path: '/docs/administrators', markdown: administrators }),
    page({ path: '/docs/recipes', markdown: recipes }),
    ...RECIPES.map(({ slug, markdown }) =>
      page({ path: `/docs/recipes/${slug}`, markdown, inserts: { token: [<NewToken />, ''] } }),
    ),
    page({
      path: '/docs/reference',
      markdown: reference,
      inserts: { ping: [<TryPing />, ''] },
      isWide: true,
    }),
    page({ path: '/docs/errors', markdown: `${errors}\n${errorExamples}\n`, isWide: true }),
    ...MODULE_PAGES.map(page),
    page({ path: '/docs/keys', markdown: asDeployed(keys, keyPattern, config) }),
    page({ path: '/docs/limits', markdown: asDeployed(limits, limitsInWords, config) }),
    page({ path: '/docs/data', markdown: asDeployed(data, supportOf, config) }),
    page({ path: '/docs/changelog', markdown: changelog }),
  ];
  const origin = serviceUrl || UNKNOWN_ORIGIN;
  const files = new Map([
    ['api/v1/openapi.json', JSON.stringify(describeApi(config, serviceUrl))],
    ...DOCUMENTS.map(({ path, describe }) => [path, JSON.stringify(describe(serviceUrl, MESSAGES))] as const),
    ['llms.txt', llmsText(pages, serviceUrl)],
    ['404.html', withOrigin(String(await wrongAddressPage), origin)],
    ...(config.securityContact ? [[SECURITY_TXT, securityText(config.securityContact, serviceUrl)] as const] : []),
  ]);
  const index: SearchEntry[] = [];
  for (const { path, html, markdown } of pages) {
    const text = withOrigin(String(await html), origin);
    files.set(`${path.slice(1)}.html`, text);
    files.set(`${path.slice(1)}.md`, markdown.replaceAll(ORIGIN, origin).replaceAll(HOST, hostOf(origin)));
    index.push(...searchEntries(path, text));
  }
  files.set('index.html', files.get('docs.html') ?? '');
  files.set('docs/search.json', JSON.stringify(index));
  return files;
}

/** The list of all pages for assistants (https://llmstxt.org). */
function llmsText(pages: readonly Rendered[], serviceUrl: string): string {
  const lines = pages.map(({ path, markdown }) => {
    const [, title, lead] = /^# (.+)\n\n((?:.+\n)+)/.exec(markdown) ?? [];
    return `- [${title}](${serviceUrl}${path}.md): ${lead?.trim().replaceAll('\n', ' ').replaceAll(ORIGIN, serviceUrl)}`;
  });
  const contracts = [{ path: 'api/v1/openapi.json', title: 'the API' }, ...DOCUMENTS];
  return `# Ticket Write-Back API

> Automations and AI agents write the result of their work back into a ticketing system: internal notes and time entries, once for each event.

## Documentation

${lines.join('\n')}

## Contracts

${contracts.map(({ path, title }) => `- [OpenAPI 3.1 of ${title}](${serviceUrl}/${path})\n`).join('')}`;
}

/** A place that the search finds: its address and heading, its page, each word of its text once, and other words. */
type SearchEntry = readonly [address: string, heading: string, page: string, text: string, otherWords?: string];

/** Other words that people look for, by the place that answers them. They count as much as its heading. */
export const OTHER_WORDS: Readonly<Record<string, string>> = {
  '/docs/concepts#retries': 'duplicate duplicates twice deduplication',
  '/docs/concepts#dry-run': 'sandbox preview test mode',
  '/docs/concepts#write': 'attachment attachments customer visible public reply',
  '/docs/concepts#glossary': 'tenant tenants',
  '/docs/reference#createTimeEntry': 'backdate backdating yesterday past date',
  '/docs/limits#limits': 'quota quotas throttling rate limits',
  '/docs/limits#costs': 'price prices pricing plan free',
  '/docs/limits#availability': 'uptime downtime sla status',
  '/docs/data#data': 'gdpr privacy personal data processing',
  '/docs/data#deletion': 'retention archive',
  '/docs/administrators#rotate': 'who still uses use using revoke lost key',
  '/docs/administrators#refused': 'request id requestid lost write writes',
  '/docs/administrators#leaked': 'leak stolen compromised exposed',
  '/docs/administrators#people': 'add second another colleague administrator user access role',
  '/docs/administrators#audit': 'csv export download',
  '/docs/administrators#approval': 'timesheet billing billable approve reject',
};

/** A place for each heading and error code of a page. A recipe is one: its headings are the same everywhere. */
function searchEntries(path: string, html: string): SearchEntry[] {
  const words = (text: string) =>
    text
      .replaceAll(/<[^>]+>|&[^;]+;/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim();
  const [, title = '', article = ''] = /<title>(.+?) · .*<article[^>]*>(.*)<\/article>/s.exec(html) ?? [];
  const prose = article.replaceAll(/<pre.*?<\/pre>/gs, ' ');
  const parts = path.startsWith('/docs/recipes/') ? [prose] : prose.split(/(?=<(?:h[23]|tr) id=")/);
  return parts.map((part) => {
    const [, id, heading = title] =
      /^<(?:h[23]|tr) id="([^"]+)">(?:<th scope="row">)?(.+?)<\/(?:h[23]|th)>/.exec(part) ?? [];
    const address = id === undefined ? path : `${path}#${id}`;
    const text = [
      ...new Set(
        words(part)
          .toLowerCase()
          .match(/[\p{L}\p{N}]{2,}/gu),
      ),
    ].join(' ');
    const entry = [address, words(heading), title, text] as const;
    const otherWords = OTHER_WORDS[address];
    return otherWords === undefined ? entry : [...entry, otherWords];
  });
}

const SECURITY_TXT = '.well-known/security.txt';

/** Whom to tell of a vulnerability, with the address at which programs look for it (RFC 9116). */
const securityText = ({ addresses, expires }: SecurityContact, serviceUrl: string) =>
  `${addresses.map((address) => `Contact: ${address}\n`).join('')}Expires: ${expires}T23:59:59Z
Canonical: ${serviceUrl}/${SECURITY_TXT}
Preferred-Languages: en
`;

/** Whom to ask, and where to report a vulnerability. */
function supportOf({ supportUrl, securityContact }: Config): string {
  const help = supportUrl
    ? `Ask at [${supportUrl}](${supportUrl})`
    : 'Ask an administrator of your organization, or the operator of this service';
  const security = securityContact ? ` Report a vulnerability as [security.txt](/${SECURITY_TXT}) says.` : '';
  return `${help}, with the \`requestId\` of the response. Never send a key.${security}`;
}

const hostOf = (origin: string) => origin.replaceAll(/^https?:\/\/|:\d+$/g, '');

/** Placeholders that the script of the page replaces by random characters, and when. */
const RANDOM: Readonly<Record<string, string>> = { 'REPLACE-ME': 'view', 'WEBHOOK-TOKEN': 'button' };

/** Puts origin, host and random values into elements that the script of the page fills. @throws Error */
function withOrigin(page: string, origin: string): string {
  if (/<[^>]*service\.invalid/.test(page)) throw new Error('an attribute of a page contains the origin of the service');
  return page
    .replaceAll(ORIGIN, `<span data-origin="">${origin}</span>`)
    .replaceAll(HOST, `<span data-host="">${hostOf(origin)}</span>`)
    .replaceAll(/REPLACE-ME|WEBHOOK-TOKEN/g, (text) => `<span data-random="${RANDOM[text]}">${text}</span>`);
}
