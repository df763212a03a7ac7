import type { Child } from 'hono/jsx';
import type { ZodOpenApiPathItemObject } from 'zod-openapi';
import type { IconName } from '../http/page/icon.tsx';

/** What an optional module adds to the documentation. Every field is optional. */
export interface DocsModule {
  pages?: readonly DocsPage[];
  /** OpenAPI documents. `origin` is as for `describeApi`; `messages` are those of all modules. */
  documents?: readonly {
    path: string;
    title: string;
    describe: (origin: string, messages: readonly Messages[]) => object;
  }[];
  /** The messages that it sends to the PSA. */
  messages?: Messages;
}

export interface MarkdownSource {
  path: string;
  markdown: string;
  /** Components by the name in `<!-- insert: name -->`, with their text in the page as Markdown. */
  inserts?: Readonly<Record<string, readonly [html: Child, markdown: string]>>;
  isWide?: boolean;
}

/** How the navigation links to a page. */
export interface PageLinks {
  path: string;
  /** The group of the navigation that lists it, and its name there. */
  group: 'Start' | 'Recipes' | 'Reference' | 'PSA';
  name: string;
  /** Its name in the header, if it is there. */
  tab?: string;
}

/** A page of a module, and its links. */
interface DocsPage extends MarkdownSource, PageLinks {
  /** The reader whom the first page sends there. */
  reader?: { text: string; about: string; icon: IconName };
  /** Its place among the pages of all modules: 0 without one. */
  step?: number;
}

/** Webhooks of an OpenAPI document, with their tag. */
export interface Messages {
  tag: { name: string; description: string };
  webhooks: Readonly<Record<string, ZodOpenApiPathItemObject>>;
}
