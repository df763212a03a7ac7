import { expect, test } from 'vitest';
import agents from '../../../src/modules/mcp/docs/agents.md?raw';
import { codesOfPage } from '../../support/recipes.ts';

const settings = codesOfPage(agents.slice(agents.indexOf('## Clients')), 'https://tickets.example').map(
  ({ label, versions }) => [label, versions[0]?.text ?? ''] as const,
);

test('the settings of each client exist, and name and address precede the headers of Claude Code', () => {
  expect(settings).toHaveLength(7);
  // It takes every value after --header as a header (tried with Claude Code 2.1.330).
  expect(settings[0]?.[1]).toMatch(/^claude mcp add --transport http \w+ https:\S+ --header "[^"]*"$/);
});

/** The JSON in the settings of a client: from a brace at the start of a line to the last such brace. */
const jsonOf = (settings: string) => /^\{$[\s\S]*^\}$/m.exec(settings)?.[0];

test.each(settings)('the settings of %s contain the address, and their JSON is valid', (label, text) => {
  expect(text).toContain('https://tickets.example/mcp');
  if (!/Zapier|Command/.test(label)) expect(JSON.parse(jsonOf(text) ?? '')).toBeTypeOf('object');
});
