import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { findDueArchives } from '../../../src/modules/archive/step-statements.ts';
import { makeOrganization } from '../../support/world.ts';

const LARGE = Number.MAX_SAFE_INTEGER;

test('the search for due archives reads no audit log of an organization without releases', async () => {
  const organization = await makeOrganization();
  await env.DB.prepare(
    `insert into audit_log (organization_id, seq, at, actor_type, actor_id, actor_name, action, target_id, request_id)
     with recursive n(seq) as (select 1 union all select seq + 1 from n where seq < 2000)
     select ?, seq, 1, 'system', 'psa', 'PSA', 'note.created', 'x', 'r' || seq from n`,
  )
    .bind(organization)
    .run();
  const releases = await env.DB.prepare('select count(*) as count from releases').first<number>('count');
  const values = { before: LARGE, waiting: LARGE, full: 1, isPushed: 0, limit: 1_000 };
  const { meta } = await findDueArchives.bind(values).all(env.DB);
  expect(meta.rows_read).toBeLessThanOrEqual(20 * (releases ?? 0) + 10);
});
