import { expect, onTestFinished, test } from 'vitest';
import { diagnose } from '../../../../src/ops/diagnose.ts';
import type { Finding } from '../../../../src/ops/probe.ts';
import { startServerOn } from '../../../support/server.ts';
import { copyDatabase } from '../../../support/shared.ts';

test('with a key and a ticket, the doctor finds no fault', async () => {
  const { url, key, close } = await startServerOn(await copyDatabase('demo'), '--inspector-port', '0');
  onTestFinished(close);
  const expected = { keyPrefix: 'twb', keyLimit: { quota: 200, windowMs: 10_000 } };
  const found: Finding[] = [];
  for await (const finding of diagnose({ url: new URL(url), key, ticket: '1001', expected })) found.push(finding);
  expect(found.filter(({ ok }) => !ok)).toEqual([]);
  expect(found.slice(-8).map(({ check }) => check)).toEqual([
    ...['/mcp', 'ping', '/mcp with the key', 'ping again', 'limits'],
    ...['note', 'replay', 'a note over /mcp'],
  ]);
  expect(found.find(({ check }) => check === '/mcp')?.says).toMatch(/^deployed; /);
});
