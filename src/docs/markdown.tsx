import { Code } from '../http/page/code.tsx';
import { Tabs } from '../http/page/tabs.tsx';
import type { Block, CodeBlock } from './blocks.ts';
import { Table } from './layout.tsx';
import { Text } from './text.tsx';

/** Blocks of a Markdown file, as the pages show them. */
export function Markdown({ blocks }: { blocks: readonly Block[] }) {
  return (
    <>
      {blocks.map((block) => {
        if (block.type === 'code') return <CodeToCopy {...block} />;
        if (block.type === 'heading') return <h3>{block.text}</h3>;
        if (block.type === 'table')
          return <Table head={textsOf(block.header)} rows={block.rows.map((row) => textsOf(row))} />;
        if (block.type === 'list')
          return (
            <ul>
              {block.items.map(({ text }) => (
                <li>
                  <Text>{text}</Text>
                </li>
              ))}
            </ul>
          );
        return (
          <p>
            <Text>{block.text}</Text>
          </p>
        );
      })}
    </>
  );
}

const textsOf = (cells: readonly { text: string }[]) => cells.map(({ text }) => text);

const SHELLS: Readonly<Record<string, string>> = { bash: 'bash', powershell: 'PowerShell' };

/** Something to copy, in a tab for each shell if it is a command. */
function CodeToCopy({ label, versions }: CodeBlock) {
  const [first] = versions;
  if (versions.length === 1) return <Code label={label}>{first?.text ?? ''}</Code>;
  return (
    <Tabs
      group={label.toLowerCase().replaceAll(/\W+/g, '-')}
      legend={`${label}: the shell`}
      choice="language"
      tabs={versions.map(({ language, text }) => ({
        id: language,
        label: SHELLS[language] ?? language,
        content: (
          <Code label={`${label}, ${SHELLS[language] ?? language}`} title={label}>
            {text}
          </Code>
        ),
      }))}
    />
  );
}
