import { expect, test } from 'vitest';
import { AGENT_CLIENTS } from '../../src/docs/agent-clients.ts';

/** The JSON in the settings of a client: from a brace at the start of a line to the last such brace. */
const jsonOf = (settings: string) => /^\{$[\s\S]*^\}$/m.exec(settings)?.[0];

test.each(AGENT_CLIENTS.map(({ name, settings }) => [name, settings('https://tickets.example')] as const))(
  'the settings of %s have the address, and their JSON is valid',
  (name, settings) => {
    expect(settings).toContain('https://tickets.example/mcp');
    const json = jsonOf(settings);
    if (!name.startsWith('Zapier')) expect(JSON.parse(json ?? '')).toBeTypeOf('object');
  },
);
