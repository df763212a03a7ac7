import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { REVIEW_DUE } from '../../../src/modules/access-review/review-due.ts';
import { bindFacts, toFact } from '../../../src/services/bind-facts.ts';
import { readAll } from '../../../src/services/call-d1.ts';
import { asOperator, makeOrganization } from '../../support/world.ts';

const OPTIONS = { isPushed: false, dayLimits: { key: null, organization: null }, ofModules: [] };
const bindAt = (now: number) =>
  bindFacts({ ...asOperator(), now: () => now }, REVIEW_DUE, OPTIONS, { each: 9, limit: 2_000 });

test('the fact begins 14 days before the date, and is more urgent after it', async () => {
  const organization = await makeOrganization({ timeZone: 'America/New_York' });
  const start = Date.parse('2027-03-01T12:00:00Z');
  await env.DB.prepare('insert into key_rules values (?, null, 0, 1, ?, 1)').bind(organization, start).run();
  const factAfter = async (days: number) => {
    const now = start + days * DAY_MS;
    const rows = await readAll(asOperator(), bindAt(now));
    const own = rows.flatMap((row) => (row.organizationId === organization ? toFact(row, REVIEW_DUE.kinds, now) : []));
    return own.map((fact) => fact && [fact.level, fact.count, fact.kind.sentence(fact)]);
  };
  expect((await factAfter(16)).filter(Boolean)).toEqual([]);
  expect(await factAfter(17)).toEqual([[1, 14, 'An access review is due on 2027-04-01.']]);
  expect(await factAfter(31)).toEqual([[1, 0, 'An access review is due on 2027-04-01.']]);
  expect(await factAfter(32)).toEqual([[2, -1, 'An access review was due on 2027-04-01.']]);
});

test('the statement of the fact reads one row of an organization without a rule', async () => {
  const rowsRead = async () => (await bindAt(0).all(env.DB)).meta.rows_read;
  const before = await rowsRead();
  for (let count = 0; count < 3; count++) await makeOrganization();
  expect(await rowsRead()).toBe(before + 3);
});
