import { Code } from '../http/page/code.tsx';
import { Icon } from '../http/page/icon.tsx';
import { Tabs } from '../http/page/tabs.tsx';
import { Text } from '../http/page/text.tsx';
import { Page, Table } from './layout.tsx';
import { FAILURES } from './recipes/common.ts';
import type { Recipe, Step } from './recipes/recipe.ts';
import { RULES } from './recipes/rules.ts';
import { ToolTiles } from './tiles.tsx';

export function Recipes() {
  return (
    <Page title="Recipes" path="/docs/recipes" parts={[{ href: '#rules', text: 'Rules for every tool' }]}>
      <p class="lead">Each recipe leads from an empty workflow to the first time entry, one action at a time.</p>
      <ToolTiles hasLead />
      <h2 id="rules">Rules for every tool</h2>
      <Table head={['Question', 'Answer']} rows={RULES} />
    </Page>
  );
}

const PARTS = [
  { href: '#steps', text: 'Steps' },
  { href: '#failures', text: 'When it fails' },
  { href: '#checked', text: 'How this was checked' },
];

export function RecipePage({ recipe, origin }: { recipe: Recipe; origin: string }) {
  const { slug, tool, lead, needs, steps, failures, retries, checked } = recipe;
  return (
    <Page title={`Write back from ${tool}`} path={`/docs/recipes/${slug}`} parts={PARTS}>
      <p class="lead">{lead}</p>
      <div class="banner">
        <Icon name="info" />
        <div>
          <p>
            <strong>You need</strong>
          </p>
          <ul>
            {needs.map((need) => (
              <li>
                <Text>{need}</Text>
              </li>
            ))}
          </ul>
        </div>
      </div>
      <h2 id="steps">Steps</h2>
      <ol class="steps">
        {steps(origin).map((step, index) => (
          <RecipeStep step={step} number={index + 1} />
        ))}
      </ol>
      <h2 id="failures">When it fails</h2>
      <Table head={['You see', 'What to do']} rows={[...failures, ...FAILURES]} />
      <h3>Retries</h3>
      <p>
        <Text>{retries}</Text>
      </p>
      <p>
        <a href="/docs/problems">All problems</a>, and the <a href="/docs/recipes#rules">rules for every tool</a>, such
        as how to choose an Idempotency-Key.
      </p>
      <h2 id="checked">How this was checked</h2>
      <ul class="tried">
        {checked.map((sentence) => (
          <li>
            <Text>{sentence}</Text>
          </li>
        ))}
      </ul>
    </Page>
  );
}

function RecipeStep({ step, number }: { step: Step; number: number }) {
  const { title, text = [], code, download, fields, after = [] } = step;
  return (
    <li>
      <h3>{title}</h3>
      <Paragraphs texts={text} />
      {code && <StepCode code={code} group={`step-${number}`} />}
      {download && (
        <p>
          <a href={`/docs/recipes/${download.file}`} download={download.file}>
            Download {download.label}
          </a>
        </p>
      )}
      {fields && <Table head={['Field', 'Value']} rows={fields} />}
      <Paragraphs texts={after} />
    </li>
  );
}

function Paragraphs({ texts }: { texts: readonly string[] }) {
  return (
    <>
      {texts.map((text) => (
        <p>
          <Text>{text}</Text>
        </p>
      ))}
    </>
  );
}

/** Something to copy, in a tab for each shell if it is a command. */
function StepCode({ code, group }: { code: NonNullable<Step['code']>; group: string }) {
  if ('text' in code) return <Code label={code.label}>{code.text}</Code>;
  const shells = [
    { id: 'bash', label: 'bash', command: code.bash },
    { id: 'powershell', label: 'PowerShell', command: code.powershell },
  ];
  return (
    <Tabs
      group={group}
      legend={`${code.label}: the shell`}
      choice="language"
      tabs={shells.map(({ id, label, command }) => ({
        id,
        label,
        content: (
          <Code label={`${code.label}, ${label}`} title={code.label}>
            {command}
          </Code>
        ),
      }))}
    />
  );
}
