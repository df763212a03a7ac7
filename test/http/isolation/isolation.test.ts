import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { Tally } from '../../support/hostile.ts';
import { inLongRuns, runs } from '../../support/property.ts';
import { EVENT_TYPES, event } from './events.ts';
import { RULES, RuleBroken, RuleChecks } from './rules.ts';
import { World } from './world.ts';

// Organizations that are as alike as they can be. Random events happen in them, which name keys,
// records, tickets and users of any of the organizations. After each event every rule is checked:
// against the rows of the other organizations, which must not have changed, and against a model of
// what the event's own organization would respond if it were the only one. Each rule is a test.

const checks = new RuleChecks();
const outcomes = new Tally();
const types = new Set<string>();
/**
 * What fast-check says about the sequence in which a rule was broken, with the seed that repeats
 * it.
 */
let report = '';

beforeAll(async () => {
  let worlds = 0;
  const sequence = fc.asyncProperty(fc.array(event, { minLength: 30, maxLength: 40 }), async (events) => {
    const world = await World.make(`w${++worlds}`, checks, { hasReplica: worlds % 3 === 0 });
    for (const one of events) {
      outcomes.add(`${one.do}: ${await world.run(one)}`);
      types.add(one.do);
    }
    const wrong = await world.ledgerInconsistencies();
    if (wrong.length > 0) throw new Error(wrong.join('\n'));
  });
  const parameters = {
    numRuns: runs('isolation, in sequences of 30 to 40 events', inLongRuns(18, 6)),
    endOnFailure: true,
  };
  const details = await fc.check(sequence, parameters);
  outcomes.print('isolation: events');
  if (!details.failed) return;
  report = fc.defaultReportMessage(details) ?? '';
  // A broken rule fails its own test below. Any other error fails all of them.
  if (!(details.errorInstance instanceof RuleBroken)) throw new Error(report, { cause: details.errorInstance });
}, 600_000);

describe('between organizations that look alike,', () => {
  test.each(Object.entries(RULES))('%s: %s', (rule) => {
    const failure = checks.failureOf(rule);
    if (failure) {
      failure.message += `\n${report}`;
      throw failure;
    }
  });

  test('every type of event happened', () => {
    if (report === '') expect([...types].sort()).toEqual(Object.keys(EVENT_TYPES).sort());
  });
});
