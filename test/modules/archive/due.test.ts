import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { findDueArchives } from '../../../src/modules/archive/step-statements.ts';
import { addChanges } from '../../support/many-changes.ts';
import { makeWorld } from '../../support/world.ts';

const LARGE = Number.MAX_SAFE_INTEGER;

test('the search for due archives reads no audit log of an organization without releases', async () => {
  const { organization } = await makeWorld();
  await addChanges(organization, 2_000);
  const releases = await env.DB.prepare('select count(*) as count from releases').first<number>('count');
  const values = { before: LARGE, waiting: LARGE, full: 1, isPushed: 0, limit: 1_000 };
  const { meta } = await findDueArchives.bind(values).all(env.DB);
  expect(meta.rows_read).toBeLessThanOrEqual(20 * (releases ?? 0) + 10);
});
