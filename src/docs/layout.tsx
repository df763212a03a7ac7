import type { Child, PropsWithChildren } from 'hono/jsx';
import { Frame, PRODUCT } from '../http/page/frame.tsx';
import { Icon } from '../http/page/icon.tsx';
import { type Link, Navigation, TABS } from './navigation.tsx';
import { CONTRACT_VERSION } from './openapi.ts';

interface PageProps {
  title: string;
  /** The path of this page, to mark it in the navigation; none for an error. */
  path?: string;
  parts?: readonly Link[];
  /** Above the navigation, instead of the title as a heading. */
  hero?: Child;
  isWide?: boolean;
}

export function Page({ title, path = '', parts = [], hero, isWide = false, children }: PropsWithChildren<PageProps>) {
  const bar = (
    <>
      <span class="area">Documentation</span>
      <a class="bar-link" href="/settings">
        <Icon name="key" />
        <span>Settings</span>
      </a>
    </>
  );
  const tabs = (
    <nav class="tabs" aria-label="Documentation">
      {TABS.map(({ href, text }) => (
        <a href={href} aria-current={currentTab(href, path)}>
          {text}
        </a>
      ))}
    </nav>
  );
  return (
    <Frame title={`${title} · ${PRODUCT}`} home="/docs" bar={bar} tabs={tabs} footer={FOOTER}>
      {hero}
      <div class="docs">
        <div>
          <Search isFirst={path === ''} />
          <Navigation path={path} parts={parts} />
        </div>
        <article class={isWide ? undefined : 'prose'}>
          {hero === undefined && <h1>{title}</h1>}
          {children}
          {path !== '' && (
            <p class="minor">
              <a href={`${path}.md`}>This page as Markdown</a>, for your assistant. <a href="/llms.txt">All pages</a>
            </p>
          )}
        </article>
      </div>
    </Frame>
  );
}

const FOOTER = (
  <>
    Version {CONTRACT_VERSION} · <a href="/docs/changelog">Changelog</a> · <a href="/docs/limits">Limits and costs</a> ·{' '}
    <a href="/docs/data">Data and support</a>
  </>
);

/** A page below a tab's page keeps the tab marked, and a page without a tab marks the first page's. */
function currentTab(href: string, path: string): 'page' | 'true' | undefined {
  const tab = TABS.findLast((one) => `${path}/`.startsWith(`${one.href}/`));
  if (tab?.href !== href) return undefined;
  return path === href ? 'page' : 'true';
}

/** Searches all pages, with script only. `isFirst`: the page begins in its field. */
function Search({ isFirst }: { isFirst: boolean }) {
  return (
    <search class="search" id="search" hidden>
      <label class="visually-hidden" for="search-field">
        Search the documentation
      </label>
      <input
        id="search-field"
        type="search"
        placeholder="Search ( / )"
        autocomplete="off"
        spellcheck={false}
        autofocus={isFirst}
      />
      <output class="visually-hidden"></output>
      <ul></ul>
    </search>
  );
}
