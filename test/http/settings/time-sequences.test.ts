import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { elementsOf } from '../../support/page.ts';
import { inLongRuns, runs } from '../../support/property.ts';
import { allChanges, work } from '../../support/psa-calls.ts';
import { openSettings } from '../../support/settings.ts';
import { importAdmin, makeTime, setApprovals } from '../../support/time.ts';

// Two administrators and the PSA decide about the same entries at the same time, while new ones come, and the
// PSA changes who decides about later entries. The model has the decision of each entry, which is made once: the feed,
// the answers and the queue must agree with it.

const REVIEWERS = ['ada', 'bea'] as const;
const decision = fc.constantFrom('APPROVED' as const, 'REJECTED' as const);
const reviewer = fc.constantFrom(...REVIEWERS);
const which = fc.array(fc.nat(50), { minLength: 1, maxLength: 4 });
const action = fc.oneof(
  fc.record({ by: fc.constant('settings' as const), which, decision, reviewer }),
  fc.record({ by: fc.constant('psa' as const), which, decision, reviewer }),
);
const round = fc.record({
  log: fc.nat(3),
  approvals: fc.constantFrom('settings' as const, 'settings' as const, 'psa' as const),
  changesDuring: fc.boolean(),
  actions: fc.array(action, { minLength: 1, maxLength: 4 }),
});
type Round = typeof round extends fc.Arbitrary<infer T> ? T : never;
type Action = Round['actions'][number];

async function makeModel() {
  const { organization, api, get, log } = await makeTime();
  const areas = new Map<string, Awaited<ReturnType<typeof openSettings>>>();
  for (const id of REVIEWERS) {
    await importAdmin(organization, id, id);
    areas.set(id, await openSettings(api, organization, `${id}@${organization}.example`));
  }
  const ids: string[] = [];
  /** The entries that the PSA decides. */
  const ofPsa = new Set<string>();
  let current = 'settings';
  /** The decision and the reviewer of each entry, from the feed. */
  const decided = new Map<string, string>();

  const chosenBy = ({ which }: Pick<Action, 'which'>) => [
    ...new Set(which.flatMap((index) => ids[index % ids.length] ?? [])),
  ];

  /**
   * Returns a check of the answer, for when the decisions of the round are known. The PSA may make the same decision about
   * its entry after the page did not find it.
   */
  async function act({ by, which, decision, reviewer }: Action): Promise<() => void> {
    const chosen = chosenBy({ which });
    const own = `${decision} ${reviewer}`;
    if (by === 'psa') {
      const [entry = ''] = chosen;
      const answer = await work.reviewTimeEntry(organization, entry, decision, reviewer);
      return () => {
        const stored = decided.get(entry);
        if (!ofPsa.has(entry)) expect(answer).toMatchObject({ ok: false, error: { code: 'approved_in_settings' } });
        else if (stored === own) expect(answer).toEqual({ ok: true, value: { status: decision } });
        else
          expect(answer).toMatchObject({
            ok: false,
            error: { code: 'already_reviewed', decision: stored?.split(' ')[0] },
          });
      };
    }
    const countDone = (of = chosen) => of.filter((id) => decided.get(id) === own).length;
    const ofArea = chosen.filter((id) => !ofPsa.has(id));
    const undecided = chosen.filter((id) => !decided.has(id));
    // A rejection in the PSA has another reason than the form.
    const before = decision === 'REJECTED' ? 0 : countDone(chosen.filter((id) => ofPsa.has(id)));
    const answer = await areas.get(reviewer)?.post('/time/decide', { decision, entry: chosen, reason: 'No' });
    return () => {
      const said =
        answer?.status === 303
          ? /^(\d+) entr/.exec(answer.notice)?.[1]
          : /<h1>(\d+|Nothing was) /.exec(answer?.text ?? '')?.[1];
      const done = said === 'Nothing was' ? 0 : Number(said);
      // Entries that were decided before count only if the form decides nothing new.
      if (done < countDone(ofArea) + before) {
        expect(done).toBeGreaterThan(0);
        expect(done).toBeLessThanOrEqual(countDone(undecided));
      }
      expect(done).toBeLessThanOrEqual(countDone());
      expect(answer?.status).toBe(done === chosen.length ? 303 : 409);
    };
  }

  return {
    ids,
    decided,
    async play({ log: count, approvals, changesDuring, actions }: Round) {
      for (let one = 0; one < count; one++) {
        const id = await log();
        ids.push(id);
        if (current === 'psa') ofPsa.add(id);
      }
      if (ids.length === 0) return;
      current = approvals;
      if (!changesDuring) await setApprovals(organization, approvals);
      const [checks] = await Promise.all([
        Promise.all(actions.map(act)),
        changesDuring ? setApprovals(organization, approvals) : undefined,
      ]);
      const all = await decisionsOf(organization);
      expect(all.map(([id]) => id)).toEqual([...new Set(all.map(([id]) => id))]);
      for (const [id, made] of decided) expect(new Map(all).get(id)).toBe(made);
      const made = (by: Action['by']) =>
        actions
          .filter((one) => one.by === by)
          .flatMap((one) =>
            chosenBy(one)
              .slice(0, by === 'psa' ? 1 : undefined)
              .map((id) => `${id} ${one.decision} ${one.reviewer}`),
          );
      for (const [id, own] of all)
        if (!decided.has(id)) expect(made(ofPsa.has(id) ? 'psa' : 'settings')).toContain(`${id} ${own}`);
      for (const [id, made] of all) decided.set(id, made);
      for (const check of checks) check();
      expect(await statusesOf(organization)).toEqual(
        new Map(ids.map((id) => [id, decided.get(id)?.split(' ')[0] ?? 'SUBMITTED'])),
      );
      const page = await get('/time');
      const shown = (await elementsOf(page.text, 'tbody input')).map(({ attributes }) => attributes['value']);
      expect(shown.sort()).toEqual(ids.filter((id) => !decided.has(id) && !ofPsa.has(id)).sort());
    },
  };
}

/** Every decision of the feed: the entry, and the decision with its reviewer. */
async function decisionsOf(organization: string) {
  return (await allChanges(organization)).flatMap(({ action, targetId, actor }) =>
    /approved|rejected/.test(action) ? [[targetId, `${action.slice(11).toUpperCase()} ${actor.id}`] as const] : [],
  );
}

async function statusesOf(organization: string): Promise<Map<string, string>> {
  const { results } = await env.DB.prepare('select id, status from time_entries where organization_id = ?')
    .bind(organization)
    .all<{ id: string; status: string }>();
  return new Map(results.map(({ id, status }) => [id, status]));
}

test('every entry is decided once, and each side learns whose decision it was', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 3, maxLength: 8 }), async (rounds) => {
      const model = await makeModel();
      for (const one of rounds) await model.play(one);
    }),
    // Simultaneous decisions come in another order each time, so a shorter sequence proves nothing.
    { numRuns: runs('decisions about time', inLongRuns(40, 5)), endOnFailure: true },
  );
}, 240_000);
