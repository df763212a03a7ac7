import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { AGENT_MODULES } from '../../../src/agents/modules.ts';
import { startModules } from '../../../src/module.ts';
import { mcp } from '../../../src/modules/mcp/module.ts';
import { parseOrigins } from '../../../src/modules/mcp/origins.ts';
import { config } from '../../support/world.ts';

test('MCP_ORIGINS lists origins, separated by commas or spaces', () => {
  const MCP_ORIGINS = 'https://a.example, http://localhost:6274 vscode-file://vscode-app';
  expect(parseOrigins(MCP_ORIGINS)).toEqual(['https://a.example', 'http://localhost:6274', 'vscode-file://vscode-app']);
  expect(parseOrigins('')).toEqual([]);
});

test.each(['https://a.example/', 'null', 'https://A.example'])('MCP_ORIGINS refuses %s', (MCP_ORIGINS) => {
  const start = () => startModules([mcp], { ...env, MCP_ORIGINS }, config());
  expect(start).toThrow(`MCP_ORIGINS: "${MCP_ORIGINS}" is not an origin`);
});

test.each([
  ['https://psa.example/hook', 1],
  [' ', 0],
])('with WEBHOOK_URL "%s", %i module of the Worker for AI agents wakes the push', (WEBHOOK_URL, count) => {
  const contributions = startModules(AGENT_MODULES, { ...env, WEBHOOK_URL }, config());
  expect(contributions.filter(({ ports }) => ports?.(() => undefined).changed)).toHaveLength(count);
});
