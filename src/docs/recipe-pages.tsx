import { Icon } from '../http/page/icon.tsx';
import { Page } from './layout.tsx';
import { Markdown } from './markdown.tsx';
import { type Recipe, RULES } from './recipes.ts';
import { Text } from './text.tsx';
import { ToolTiles } from './tiles.tsx';

export function Recipes() {
  return (
    <Page title="Recipes" path="/docs/recipes" parts={[{ href: '#rules', text: 'Rules for every tool' }]}>
      <p class="lead">Each recipe leads from an empty workflow to the first time entry, one action at a time.</p>
      <ToolTiles hasLead />
      <h2 id="rules">Rules for every tool</h2>
      <Markdown blocks={RULES} />
    </Page>
  );
}

const PARTS = [
  { href: '#steps', text: 'Steps' },
  { href: '#failures', text: 'When it fails' },
  { href: '#checked', text: 'How this was checked' },
];

export function RecipePage({ recipe }: { recipe: Recipe }) {
  const { slug, tool, lead, needs, steps, failures, checked } = recipe;
  return (
    <Page title={`Write back from ${tool}`} path={`/docs/recipes/${slug}`} parts={PARTS}>
      <p class="lead">
        <Text>{lead}</Text>
      </p>
      <div class="banner">
        <Icon name="info" />
        <div>
          <p>
            <strong>You need</strong>
          </p>
          <Markdown blocks={needs} />
        </div>
      </div>
      <h2 id="steps">Steps</h2>
      <ol class="steps">
        {steps.map(({ title, blocks }) => (
          <li>
            <h3>{title}</h3>
            <Markdown blocks={blocks} />
          </li>
        ))}
      </ol>
      <h2 id="failures">When it fails</h2>
      <Markdown blocks={failures} />
      <h2 id="checked">How this was checked</h2>
      <div class="tried">
        <Markdown blocks={checked} />
      </div>
    </Page>
  );
}
