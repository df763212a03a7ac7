import { Code } from '../http/page/code.tsx';
import { type Block, blocksOf, type CodeBlock, idOf, type Section, sectionsOf } from './blocks.ts';
import { Hero, Tiles } from './inserts.tsx';
import { Page } from './layout.tsx';
import type { MarkdownSource } from './module.ts';
import { Tabs } from './tabs.tsx';
import { Text } from './text.tsx';

type Inserts = NonNullable<MarkdownSource['inserts']>;

/** The Markdown of a page as a file for readers and their assistants: without the comments and ids of the source. */
export const readable = (markdown: string): string =>
  markdown
    .replaceAll(/^<!-- (?:tab|fold): (.+) -->$/gm, '**$1**')
    .replaceAll(/^<!-- (?:end|insert: .+) -->\n\n?/gm, '')
    .replaceAll(/^(#+ .+) <!-- #[\w.-]+ -->$/gm, '$1');

/** A page from Markdown, with its headings of level 2 in the navigation. The first page has a hero for title and lead. */
export function MarkdownPage({ path, markdown, inserts = {}, isWide = false }: MarkdownSource) {
  const [page] = sectionsOf(blocksOf(markdown), 1);
  if (!page) throw new Error(`The page ${path} has no title`);
  const sections = sectionsOf(page.blocks, 2);
  const [lead, ...others] = page.blocks;
  if (lead?.type !== 'paragraph') throw new Error(`The page ${path} does not begin with a paragraph`);
  const links = sections.map(({ id, title }) => ({ href: `#${id}`, text: title }));
  const hero = path === '/docs' ? <Hero lead={lead.text} /> : undefined;
  return (
    <Page title={page.title} path={path} parts={links} isWide={isWide} hero={hero}>
      {!hero && (
        <p class="lead">
          <Text>{lead.text}</Text>
        </p>
      )}
      <Markdown blocks={untilHeading(others)} inserts={inserts} />
      {sections.map((section) => (
        <PageSection section={section} inserts={inserts} />
      ))}
    </Page>
  );
}

function untilHeading(blocks: readonly Block[]): readonly Block[] {
  const end = blocks.findIndex(({ type }) => type === 'heading');
  return end === -1 ? blocks : blocks.slice(0, end);
}

/** A section of a page. One that begins with a heading is a list of steps. */
function PageSection({ section: { id, title, blocks }, inserts }: { section: Section; inserts: Inserts }) {
  return (
    <>
      <h2 id={id}>
        <a href={`#${id}`}>{title}</a>
      </h2>
      {blocks[0]?.type === 'heading' ? (
        <ol class="steps">
          {sectionsOf(blocks, 3).map((step) => (
            <li>
              <StepHeading id={step.id} text={step.title} />
              <Markdown blocks={step.blocks} inserts={inserts} />
            </li>
          ))}
        </ol>
      ) : (
        <Markdown blocks={blocks} inserts={inserts} />
      )}
    </>
  );
}

export function Markdown({ blocks, inserts = {} }: { blocks: readonly Block[]; inserts?: Inserts }) {
  return (
    <>
      {blocks.map((block) => {
        switch (block.type) {
          case 'code':
            return <CodeToCopy {...block} />;
          case 'insert':
            if (!(block.name in inserts)) throw new Error(`The page has nothing to insert as ${block.name}`);
            return inserts[block.name]?.[0];
          case 'tabs':
            return (
              <Tabs
                group={block.id}
                legend={block.tabs.map(({ title }) => title).join(' or ')}
                choice={block.tabs.map(({ title }) => idOf(title)).join()}
                tabs={block.tabs.map(({ title, blocks }) => ({
                  id: idOf(title),
                  label: title,
                  content: <Markdown blocks={blocks} inserts={inserts} />,
                }))}
              />
            );
          case 'fold':
            return block.tabs.map(({ title, blocks }) => (
              <details>
                <Text as="summary">{title}</Text>
                <Markdown blocks={blocks} inserts={inserts} />
              </details>
            ));
          case 'heading':
            return <StepHeading {...block} />;
          case 'table':
            return <Table head={textsOf(block.header)} rows={block.rows.map((row) => textsOf(row))} />;
          case 'list':
            return <List {...block} />;
          default:
            return <Text as="p">{block.text}</Text>;
        }
      })}
    </>
  );
}

const StepHeading = ({ id, text }: { id: string; text: string }) => (
  <h3 id={id}>
    <a href={`#${id}`}>
      <Text>{text}</Text>
    </a>
  </h3>
);

/** A list. One of links only, with or without a text after a colon, is shown as tiles. */
function List({ ordered, items }: { ordered: boolean; items: readonly { text: string }[] }) {
  const tiles = items.flatMap(({ text: item }) => {
    const [, text, href, about] = /^\[([^\]]+)\]\(([^)]+)\)(?:: (.+))?$/.exec(item) ?? [];
    return text === undefined || href === undefined ? [] : [{ text, href, about }];
  });
  if (!ordered && tiles.length === items.length) return <Tiles tiles={tiles} />;
  const entries = items.map(({ text }) => <Text as="li">{text}</Text>);
  return ordered ? <ol>{entries}</ol> : <ul>{entries}</ul>;
}

const textsOf = (cells: readonly { text: string }[]) => cells.map(({ text }) => text);

const LANGUAGES: Readonly<Record<string, string>> = {
  bash: 'bash',
  powershell: 'PowerShell',
  python: 'Python',
  js: 'Node.js',
};
const languageName = (language: string) => LANGUAGES[language] ?? language;

/** Something to copy, in a tab for each language if there are several. */
function CodeToCopy({ label, versions }: CodeBlock) {
  const [first] = versions;
  if (versions.length === 1) return <Code label={label}>{first?.text ?? ''}</Code>;
  return (
    <Tabs
      group={idOf(label)}
      legend={`${label}: the language`}
      choice="language"
      tabs={versions.map(({ language, text }) => ({
        id: language,
        label: languageName(language),
        content: (
          <Code label={`${label}, ${languageName(language)}`} title={label}>
            {text}
          </Code>
        ),
      }))}
    />
  );
}

/** The address of a row on the page by the head of the table: its code, its header or the words of its question. */
const ROW_ID: Readonly<Record<string, (cell: string) => string | undefined>> = {
  Code: (cell) => /^`([\w-]+)`/.exec(cell)?.[1],
  Header: (cell) => /^`([\w-]+)`/.exec(cell)?.[1]?.toLowerCase(),
  Question: idOf,
};

/** A table. On a narrow screen each row is a card. */
function Table({ head, rows }: { head: readonly string[]; rows: readonly (readonly string[])[] }) {
  const idOfRow = ROW_ID[head[0] ?? ''];
  return (
    <div class="sheet">
      <table>
        <caption class="visually-hidden">{head.join(', ')}</caption>
        <thead>
          <tr>
            {head.map((cell) => (
              <th scope="col">{cell}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([first = '', ...others]) => (
            <tr id={idOfRow?.(first)}>
              <th scope="row">
                <Text>{first}</Text>
              </th>
              {others.map((cell, index) => (
                <td data-label={others.length > 1 ? head[index + 1] : undefined}>
                  <Text as="div">{cell}</Text>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
