import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { AGENT_MODULES } from '../../../src/agents/modules.ts';
import { startModules } from '../../../src/module.ts';
import { parseMcpOptions } from '../../../src/modules/mcp/options.ts';
import { config } from '../../support/world.ts';

test('MCP_ORIGINS lists origins, separated by commas or spaces', () => {
  const MCP_ORIGINS = 'https://a.example, http://localhost:6274 vscode-file://vscode-app';
  expect(parseMcpOptions({ MCP_ORIGINS })).toEqual({
    origins: ['https://a.example', 'http://localhost:6274', 'vscode-file://vscode-app'],
  });
  expect(parseMcpOptions({})).toEqual({ origins: [] });
});

test.each(['https://a.example/', 'null', 'https://A.example'])('MCP_ORIGINS refuses %s', (MCP_ORIGINS) => {
  expect(() => parseMcpOptions({ MCP_ORIGINS })).toThrow(`MCP_ORIGINS: "${MCP_ORIGINS}" is not an origin`);
});

test.each([
  ['https://psa.example/hook', 1],
  [' ', 0],
])('with WEBHOOK_URL "%s", %i module of the Worker for AI agents wakes the push', (WEBHOOK_URL, count) => {
  const contributions = startModules(AGENT_MODULES, { ...env, WEBHOOK_URL }, config());
  expect(contributions.filter(({ ports }) => ports?.(() => undefined).changed)).toHaveLength(count);
});
