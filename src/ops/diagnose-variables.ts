import { OPS_MODULES } from './modules.ts';
import { check, Failure, type Finding } from './probe.ts';
import { unknownVariables } from './unknown-variables.ts';

/** Looks for misspelled names. A name that is like no other is the operator's own. */
export async function* diagnoseVariables(vars: Readonly<Record<string, string>>): AsyncGenerator<Finding> {
  yield await check('the variables in wrangler.toml', async () => {
    const ofModules = OPS_MODULES.flatMap(({ variables }) => variables ?? []);
    const misspelled = unknownVariables(Object.keys(vars), ofModules).filter(({ nearest }) => nearest !== undefined);
    if (misspelled.length === 0) return 'no name looks misspelled';
    throw new Failure(
      misspelled.map(({ name, nearest }) => `${name} has no effect. Did you mean ${nearest}?`).join(' '),
    );
  });
}
