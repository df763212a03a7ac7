import { expect, test } from 'vitest';
import { VARIABLES } from '../../../src/config.ts';
import { diagnoseVariables } from '../../../src/ops/diagnose-config.ts';
import { MODULE_VARIABLES } from '../../../src/ops/modules.ts';
import type { Finding } from '../../../src/ops/probe.ts';

async function findings(names: readonly string[]): Promise<Finding[]> {
  const found: Finding[] = [];
  for await (const finding of diagnoseVariables(Object.fromEntries(names.map((name) => [name, '']))))
    found.push(finding);
  return found;
}

test('the doctor finds variables that look misspelled, and no others', async () => {
  const known = [...VARIABLES, ...MODULE_VARIABLES.keys()];
  expect(await findings([...known, 'GREETING'])).toMatchObject([{ ok: true }]);
  expect(await findings(['BLOCKED_KEY', 'KEEP_DAY', 'KEY_LIMIT'])).toMatchObject([
    {
      ok: false,
      says: 'BLOCKED_KEY has no effect. Did you mean BLOCKED_KEYS? KEEP_DAY has no effect. Did you mean KEEP_DAYS?',
    },
  ]);
});
