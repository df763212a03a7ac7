import { expect, test } from 'vitest';
import agents from '../../../src/modules/mcp/docs/agents.md?raw';
import { codesOfPage } from '../../support/recipes.ts';

const settings = codesOfPage(agents, 'https://tickets.example').map(
  ({ label, versions }) => [label, versions[0]?.text ?? ''] as const,
);

test('the settings of each client exist', () => {
  expect(settings).toHaveLength(6);
});

/** The JSON in the settings of a client: from a brace at the start of a line to the last such brace. */
const jsonOf = (settings: string) => /^\{$[\s\S]*^\}$/m.exec(settings)?.[0];

test.each(settings)('the settings of %s contain the address, and their JSON is valid', (label, text) => {
  expect(text).toContain('https://tickets.example/mcp');
  if (!label.includes('Zapier')) expect(JSON.parse(jsonOf(text) ?? '')).toBeTypeOf('object');
});
