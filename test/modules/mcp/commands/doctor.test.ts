import { expect, onTestFinished, test } from 'vitest';
import { diagnose } from '../../../../src/ops/diagnose.ts';
import type { Finding } from '../../../../src/ops/probe.ts';
import { startServerOn } from '../../../support/server.ts';
import { copyDatabase } from '../../../support/shared.ts';

test('with a key and a ticket, the doctor finds no fault', async () => {
  const { url, key, close } = await startServerOn(await copyDatabase('demo'), '--inspector-port', '0');
  onTestFinished(close);
  const found: Finding[] = [];
  for await (const finding of diagnose({ url: new URL(url), key, ticket: '1001' })) found.push(finding);
  expect(found.filter(({ ok }) => !ok)).toEqual([]);
  expect(found.slice(-4).map(({ check }) => check)).toEqual(['/mcp', 'ping', '/mcp with the key', 'note']);
  expect(found.find(({ check }) => check === '/mcp')?.says).toMatch(/^deployed; /);
});
