// npm run crash -- --kills 20: kills a server under load this many times, and prints what became of
// the writes.
import { parseArgs } from 'node:util';
import { crash, summary } from './crash.ts';
import { makeLocalParts } from './restartable.ts';

const { values: options } = parseArgs({ options: { kills: { type: 'string', default: '20' } } });
const kills = Number(options.kills);
if (!Number.isInteger(kills) || kills < 1) throw new RangeError('--kills takes a whole number from 1 on');

const parts = await makeLocalParts();
try {
  const run = await crash(kills, parts);
  if (run.problems.length > 0) throw new Error(`after ${kills} crashes:\n${run.problems.join('\n')}`);
  console.log(summary(run));
} finally {
  await parts.database.remove();
}
