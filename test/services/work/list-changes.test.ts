import { expect, test } from 'vitest';
import type { ChangesPage } from '../../../src/domain/psa-shapes.ts';
import { listChanges } from '../../../src/services/work/list-changes.ts';
import { asOperator, makeKey, makeWorld, rowsOf } from '../../support/world.ts';

/** Reads the changes of an organization, each as its number and target, until there are no more. */
async function readChanges(organization: string, limit: number, isOver: () => boolean): Promise<string[]> {
  const seen: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const wasOver = isOver();
    const page: ChangesPage = await listChanges(asOperator(), { organization, cursor, limit });
    seen.push(...page.changes.map(({ seq, targetId }) => `${seq} ${targetId}`));
    if (wasOver && !page.more) return seen;
    cursor = page.cursor;
    // Leaves time to the writers.
    if (!page.more) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('readers see every committed record in commit order while others are written', async () => {
  const { organization, key, api } = await makeWorld();
  const other = await makeKey(organization);
  let isOver = false;
  const readers = [1, 3, 7].map((limit) => readChanges(organization, limit, () => isOver));
  const writes = Array.from({ length: 60 }, (_, index) => {
    const by = index % 2 === 0 ? key : other.value;
    const headers = { 'CF-Connecting-IP': '192.0.2.7', 'Idempotency-Key': `event:${index % 40}` };
    return index % 3 === 0 ? api.postNote(by, undefined, headers) : api.postTime(by, undefined, headers);
  });
  const statuses = (await Promise.all(writes)).map(({ status }) => status);
  isOver = true;
  expect(statuses.every((status) => status === 201 || status === 200)).toBe(true);
  const log = (await rowsOf('audit_log', organization)).map(({ seq, target_id }) => `${seq} ${target_id}`);
  expect(log.length).toBeGreaterThan(40);
  for (const seen of await Promise.all(readers)) expect(seen).toEqual(log);
});
