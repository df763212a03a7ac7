import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { listChanges } from '../../../src/services/work/list-changes.ts';
import { runs } from '../../support/property.ts';
import { makeApi, makeKey, makeOrganization, rowsOf } from '../../support/world.ts';

const organizations = 2;
const readers = 3;

const organization = fc.nat(organizations - 1);
const reader = fc.nat(readers - 1);
const event = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      organization,
      note: fc.boolean(),
      idempotencyKey: fc.option(fc.nat(4)),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('read' as const), reader, limit: fc.integer({ min: 1, max: 7 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('save' as const), reader }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const), reader }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('settle' as const) }) },
);

/**
 * A PSA that reads the changes of one organization. After a crash it continues from a saved cursor.
 */
class Reader {
  readonly organization: string;
  readonly seen = new Map<number, string>();
  private cursor: string | null = null;
  private saved: string | null = null;

  constructor(organization: string) {
    this.organization = organization;
  }

  save(): void {
    this.saved = this.cursor;
  }

  crash(): void {
    this.cursor = this.saved;
  }

  /** Reads the next page, which may not have a gap. Returns whether there may be more. */
  async read(limit: number): Promise<boolean> {
    const ctx = { db: env.DB, now: Date.now, deadlineAt: Date.now() + 10_000, requestId: 'reader' };
    const page = await listChanges(ctx, { organization: this.organization, cursor: this.cursor, limit });
    const before = Number(this.cursor?.split('.')[1] ?? 0);
    expect(page.changes.map(({ seq }) => seq)).toEqual(page.changes.map((_, index) => before + 1 + index));
    for (const { seq, targetId } of page.changes) this.seen.set(seq, targetId);
    this.cursor = page.cursor;
    return page.more;
  }
}

test('readers see every committed record in commit order, for any order of writes and reads', async () => {
  const api = makeApi();
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 20, maxLength: 40 }), async (events) => {
      const worlds = await Promise.all(
        Array.from({ length: organizations }, async () => {
          const id = await makeOrganization();
          return { id, key: (await makeKey(id)).value };
        }),
      );
      const psas = Array.from({ length: readers }, (_, index) => new Reader(worlds[index % organizations]?.id ?? ''));
      const written: { organization: string; answer: Promise<Response> }[] = [];
      const busy: Promise<unknown>[] = [];
      const queue: Promise<void>[] = [];

      for (const step of events) {
        if (step.do === 'settle') {
          await Promise.all(busy);
        } else if (step.do === 'write') {
          const world = worlds[step.organization];
          if (!world) throw new Error(`no organization ${step.organization}`);
          const headers = {
            'CF-Connecting-IP': '192.0.2.7',
            ...(step.idempotencyKey !== null && { 'Idempotency-Key': `key-${step.idempotencyKey}` }),
          };
          const answer = step.note
            ? api.postNote(world.key, undefined, headers)
            : api.postTime(world.key, undefined, headers);
          written.push({ organization: world.id, answer });
          busy.push(answer);
        } else {
          // The steps of one reader run one after another, beside all other steps.
          const psa = psas[step.reader];
          queue[step.reader] = Promise.resolve(queue[step.reader]).then(async () => {
            if (step.do === 'read') await psa?.read(step.limit);
            else psa?.[step.do]();
          });
        }
      }
      await Promise.all([...busy, ...queue]);
      for (const psa of psas) {
        while (await psa.read(7));
      }

      const answers = await Promise.all(
        written.map(async ({ organization, answer }) => {
          const response = await answer;
          const body = await response.json<{ note?: { id: string }; entry?: { id: string } }>();
          return { organization, status: response.status, id: body.note?.id ?? body.entry?.id };
        }),
      );
      expect(answers.every(({ status }) => status === 201 || status === 200)).toBe(true);
      for (const psa of psas) {
        const log = await rowsOf('audit_log', psa.organization);
        expect([...psa.seen].sort(([a], [b]) => a - b)).toEqual(log.map(({ seq, target_id }) => [seq, target_id]));
        const ids = new Set(psa.seen.values());
        for (const { organization, id } of answers) if (organization === psa.organization) expect(ids).toContain(id);
      }
    }),
    { numRuns: runs('readers of the changes against writers', 8) },
  );
}, 300_000);
