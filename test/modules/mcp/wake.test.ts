import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { AGENT_MODULES } from '../../../src/agents/modules.ts';
import { startModules } from '../../../src/module.ts';
import { config } from '../../support/world.ts';

test.each([
  ['https://psa.example/hook', 1],
  [' ', 0],
])('with WEBHOOK_URL "%s", %i module of the Worker for AI agents wakes the push', (WEBHOOK_URL, count) => {
  const contributions = startModules(AGENT_MODULES, { ...env, WEBHOOK_URL }, config());
  expect(contributions.filter(({ ports }) => ports?.(() => undefined).changed)).toHaveLength(count);
});
