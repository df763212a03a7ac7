// npm run crash -- --kills 20: kills a server under load and starts it again, so many times, and says what of the writes is left.
import { parseArgs } from 'node:util';
import { crash, summary } from '../support/crash.ts';

const { values: options } = parseArgs({ options: { kills: { type: 'string', default: '20' } } });
const kills = Number(options.kills);
if (!Number.isInteger(kills) || kills < 1) throw new RangeError('--kills takes a whole number from 1 on');

const run = await crash(kills);
try {
  if (run.problems.length === 0) console.log(summary(run));
  else throw new Error(`after ${kills} crashes:\n${run.problems.join('\n')}`);
} finally {
  await run.remove();
}
