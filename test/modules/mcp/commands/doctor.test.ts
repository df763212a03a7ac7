import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { diagnose } from '../../../../src/ops/diagnose.ts';
import type { Finding } from '../../../../src/ops/probe.ts';
import { rememberKey } from '../../../support/secrets.ts';
import { startTwoDeployments } from './two-deployments.ts';

type Diagnosis = Parameters<typeof diagnose>[0];

let two: Awaited<ReturnType<typeof startTwoDeployments>>;
let migrations: string[];
beforeAll(async () => {
  two = await startTwoDeployments();
  for (const { key } of two.deployments) await rememberKey(key);
  migrations = (await readdir('migrations')).filter((name) => name.endsWith('.sql'));
});
afterAll(() => two.close());

async function findings(diagnosis: Diagnosis): Promise<Finding[]> {
  const found: Finding[] = [];
  for await (const finding of diagnose(diagnosis)) found.push(finding);
  return found;
}

/** Everything that can be checked of a deployment. */
const all = ({ key, db, name }: (typeof two)['deployments'][number], url: string): Diagnosis => ({
  url: new URL(url),
  key,
  ticket: '1001',
  expected: { keyPrefix: name, keyLimit: { quota: 200, windowMs: 10_000 } },
  database: { db, limit: 10_000_000, migrations },
});

test('two deployments in one runtime keep every promise', async () => {
  for (const deployment of two.deployments) {
    const found = await findings(all(deployment, deployment.url));
    expect(found.filter(({ ok }) => !ok)).toEqual([]);
    expect(found.map(({ check }) => check)).toEqual([
      ...['/healthz', 'the clocks', 'a POST without a key', 'the User-Agents of automations'],
      ...['a note that quotes an attack', 'wrong keys', '/settings', '/docs'],
      ...['/.well-known/security.txt', '/api/v1/openapi.json', '/psa', '/mcp', 'ping', '/mcp with the key'],
      ...['ping again', 'limits', 'note', 'replay', '422', 'a note over /mcp'],
      ...['schema', 'size', 'erased organizations', 'push', 'archive'],
    ]);
    expect(found.find(({ check }) => check === '/mcp')?.says).toMatch(/^deployed; /);
    const { results } = await deployment.db.prepare('select organization_id, ticket_id from notes').all();
    expect(results).toEqual([{ organization_id: deployment.organization, ticket_id: '1001' }]);
  }
});

// The last test, because it uses up the limit of the key.
test('with --limits, requests are sent until one is refused with 429 and Retry-After', async () => {
  const [, deployment] = two.deployments;
  const found = await findings({ ...all(deployment, deployment.url), limits: true });
  expect(found.find(({ check }) => check === '429')).toMatchObject({
    ok: true,
    says: expect.stringMatching(/^refused with 429 and Retry-After \d+$/),
  });
});
