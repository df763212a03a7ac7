import { Code } from '../page/code.tsx';
import { Text } from '../page/text.tsx';
import { Page, Table } from './layout.tsx';
import { RECIPES, type Recipe, RULES } from './recipes.ts';

export function Recipes() {
  return (
    <Page title="Recipes" path="/docs/recipes">
      <p>How to call the API from each tool:</p>
      <ul>
        {RECIPES.map(({ slug, tool }) => (
          <li>
            <a href={`/docs/recipes/${slug}`}>{tool}</a>
          </li>
        ))}
      </ul>
      <h2>Rules for every tool</h2>
      <Table head={['Question', 'Answer']} rows={RULES} />
    </Page>
  );
}

export function RecipePage({ recipe, origin }: { recipe: Recipe; origin: string }) {
  const { slug, tool, tried, steps, retries, example, download } = recipe;
  return (
    <Page title={tool} path={`/docs/recipes/${slug}`}>
      <p class="tried">
        <Text>{tried}</Text>
      </p>
      <Table head={['Setting', 'Value']} rows={[...steps, ['Retries', retries]]} />
      {download && (
        <p>
          <a href={`/docs/recipes/${download.file}`} download={download.file}>
            {download.label}
          </a>{' '}
          (<code>{download.file}</code>)
        </p>
      )}
      <h2>Example</h2>
      <Code label={`Example for ${tool}`}>{example.text(origin)}</Code>
      <p>
        For rules that apply to every tool, such as how to choose an Idempotency-Key, see{' '}
        <a href="/docs/recipes">Recipes</a>.
      </p>
    </Page>
  );
}
