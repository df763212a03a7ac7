import { accessReviewDocs } from '../modules/access-review/docs.ts';
import { alertsDocs } from '../modules/alerts/docs.ts';
import { approvalsDocs } from '../modules/approvals/docs.ts';
import { mcpDocs } from '../modules/mcp/docs.ts';
import { psaDocs } from '../modules/psa/docs.ts';
import { pushDocs } from '../modules/push/docs.ts';
import { adaptersDocs } from './adapters.ts';
import type { DocsModule, DocsOfFacts } from './module.ts';

/** The documentation of the optional modules, in the order of the pages. Remove a line to remove a module. */
const LIST: readonly (DocsModule | DocsOfFacts)[] = [
  mcpDocs,
  psaDocs,
  pushDocs,
  alertsDocs,
  accessReviewDocs,
  approvalsDocs,
];

const facts = Object.fromEntries(
  LIST.flatMap((docs) => (typeof docs === 'function' ? [] : Object.entries(docs.facts ?? {}))),
);
const DOCS_MODULES = [adaptersDocs, ...LIST.map((docs) => (typeof docs === 'function' ? docs(facts) : docs))];

export const MODULE_PAGES = DOCS_MODULES.flatMap(({ pages = [] }) => pages);
export const DOCUMENTS = DOCS_MODULES.flatMap(({ documents = [] }) => documents);
export const MESSAGES = DOCS_MODULES.flatMap(({ messages = [] }) => messages);

/** Puts the sections of the modules into a page: none, if no module has a section of that name. */
export const withSections = (markdown: string) =>
  markdown.replaceAll(/<!-- section: (.+) -->\n/g, (_, name: string) =>
    DOCS_MODULES.flatMap(({ sections }) => sections?.[name] ?? []).join('\n'),
  );
