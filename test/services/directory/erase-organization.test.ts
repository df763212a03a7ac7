import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { countErasable, eraseOrganization } from '../../../src/services/directory/erase-organization.ts';
import { listChanges } from '../../../src/services/work/list-changes.ts';
import { aroundD1 } from '../../support/d1.ts';
import { makeApi, makeKey, makeOrganization } from '../../support/world.ts';

const context = (db = env.DB) => ({
  db,
  now: Date.now,
  deadlineAt: Date.now() + 10_000,
  requestId: crypto.randomUUID(),
});

/** An organization with a key and a note, and the cursor of its last change. */
async function written() {
  const organization = await makeOrganization();
  await makeApi().postNote((await makeKey(organization)).value);
  const { cursor } = await listChanges(context(), { organization, cursor: null, limit: 100 });
  return { organization, cursor, by: 'Ada' };
}

test('an erasure removes as many rows of each table as were counted before it', async () => {
  const request = await written();
  const { organization } = request;
  const counted = await countErasable(context(), { organization });
  expect(counted).toMatchObject({ notes: 1, time_entries: 0, api_keys: 1, audit_log: 2, organizations: 1 });
  expect(await eraseOrganization(context(), request)).toEqual({ auditRows: 2, removed: counted });
  await expect(countErasable(context(), { organization })).rejects.toMatchObject({ code: 'organization_not_found' });
});

test('an erasure whose response was lost is found done, without the numbers of rows', async () => {
  const request = await written();
  let lost = false;
  const db = aroundD1(env.DB, async (run, _, sql) => {
    const results = await run();
    if (lost || !sql.some((text) => text.includes('insert into erasures'))) return results;
    lost = true;
    throw new Error('Network connection lost.');
  });
  expect(await eraseOrganization(context(db), request)).toEqual({ auditRows: 2, removed: undefined });
  expect(lost).toBe(true);
});
