import { expect, onTestFinished, test } from 'vitest';
import { diagnose } from '../../../../src/ops/diagnose.ts';
import type { Finding } from '../../../../src/ops/probe.ts';
import { startServerOn } from '../../../support/server.ts';
import { copyDatabase } from '../../../support/shared.ts';

test('with a key and a ticket, the doctor finds no fault, and sends requests until the limit of the key refuses one', async () => {
  const { url, key, close } = await startServerOn(await copyDatabase('demo'), '--inspector-port', '0');
  onTestFinished(close);
  const expected = { keyPrefix: 'twb', keyLimit: { quota: 200, windowMs: 10_000 } };
  const found: Finding[] = [];
  for await (const finding of diagnose({ url: new URL(url), key, ticket: '1001', expected, limits: true }))
    found.push(finding);
  expect(found.filter(({ ok }) => !ok)).toEqual([]);
  expect(found.slice(-10).map(({ check }) => check)).toEqual([
    ...['/mcp', 'ping', '/mcp with the key', 'ping again', 'limits'],
    ...['note', 'replay', '422', 'a note over /mcp', '429'],
  ]);
  expect(found.find(({ check }) => check === '/mcp')?.says).toMatch(/^deployed; /);
  expect(found.at(-1)?.says).toMatch(/^refused with 429 and Retry-After \d+$/);
});
