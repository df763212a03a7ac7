import { exports } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { Connection } from '../../src/rpc/connection.ts';
import { makeWorld } from '../support/world.ts';

const NAMES = ['Connection', 'rpc', 'rpc/Connection/changes', 'changes'];
const PATHS = NAMES.flatMap((name) => [`/${name}`, `/api/v1/${name}`, `/${name.toLowerCase()}`]);

test.each(['GET', 'POST'])('no HTTP request (%s) reaches an entrypoint, not even with a valid key', async (method) => {
  const { key } = await makeWorld();
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Upgrade: 'jsrpc' };
  for (const path of PATHS) {
    const init = { method, headers, ...(method === 'POST' && { body: '{}' }) };
    const { status } = await exports.default.fetch(`https://api.example${path}`, init);
    expect([path, status]).toEqual([path, 404]);
  }
});

test('the entrypoint of adapters has no methods other than the documented ones', () => {
  const methods = (entrypoint: { prototype: object }) => Object.getOwnPropertyNames(entrypoint.prototype).slice(1);
  expect(methods(Connection)).toEqual([
    'upsert',
    'list',
    'deactivate',
    'changes',
    'report',
    'review',
    'reportConnection',
  ]);
});
