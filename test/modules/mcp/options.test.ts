import { expect, test } from 'vitest';
import { parseAgentsOptions } from '../../../src/agents/app.ts';

test('MCP_ORIGINS lists origins, separated by commas or spaces', () => {
  const MCP_ORIGINS = 'https://a.example, http://localhost:6274 vscode-file://vscode-app';
  expect(parseAgentsOptions({ MCP_ORIGINS })).toEqual({
    origins: ['https://a.example', 'http://localhost:6274', 'vscode-file://vscode-app'],
    isPushed: false,
  });
  expect(parseAgentsOptions({})).toEqual({ origins: [], isPushed: false });
});

test.each(['https://a.example/', 'null', 'https://A.example'])('MCP_ORIGINS refuses %s', (MCP_ORIGINS) => {
  expect(() => parseAgentsOptions({ MCP_ORIGINS })).toThrow(`MCP_ORIGINS: "${MCP_ORIGINS}" is not an origin`);
});

test.each([
  ['https://psa.example/hook', true],
  [' ', false],
])('WEBHOOK_URL "%s": a write wakes the push: %s', (WEBHOOK_URL, isPushed) => {
  expect(parseAgentsOptions({ WEBHOOK_URL }).isPushed).toBe(isPushed);
});
