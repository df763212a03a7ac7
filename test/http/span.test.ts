import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import { config, makeWorld } from '../support/world.ts';

test('a write is a span of each service that it calls, by name', async () => {
  const { key } = await makeWorld();
  const spans: string[] = [];
  const app = createApp(config(), [], Date.now, (service, run) => {
    spans.push(service);
    return run();
  });
  const writes = {
    notes: { message: 'Disk was full' },
    'time-entries': { minutes: 30, description: 'Cleared the disk', billable: true },
  };
  for (const [path, body] of Object.entries(writes)) {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const request = { method: 'POST', headers, body: JSON.stringify(body) };
    const url = `https://api.example/api/v1/tickets/1001/${path}`;
    expect((await app.request(url, request, env, createExecutionContext())).status).toBe(201);
  }
  expect(spans).toEqual(['findKeyNearby', 'createNote', 'createTimeEntry']);
});
