import { alertsDocs } from '../modules/alerts/docs.ts';
import { mcpDocs } from '../modules/mcp/docs.ts';
import { psaDocs } from '../modules/psa/docs.ts';
import { pushDocs } from '../modules/push/docs.ts';
import { adaptersDocs } from './adapters.ts';
import type { DocsModule } from './module.ts';

/** The documentation of the optional modules, in the order of the pages. Remove a name to remove a module. */
const DOCS_MODULES: readonly DocsModule[] = [psaDocs, adaptersDocs, mcpDocs, pushDocs, alertsDocs];

export const MODULE_PAGES = DOCS_MODULES.flatMap(({ pages = [] }) => pages).sort(
  (one, other) => (one.step ?? 0) - (other.step ?? 0),
);
export const DOCUMENTS = DOCS_MODULES.flatMap(({ documents = [] }) => documents);
export const MESSAGES = DOCS_MODULES.flatMap(({ messages = [] }) => messages);

/** The readers whom the first page sends to a page of a module, as a list. */
export const MODULE_READERS = MODULE_PAGES.flatMap(({ path, reader }) =>
  reader ? `- [${reader.text}](${path}): ${reader.about}` : [],
).join('\n');
