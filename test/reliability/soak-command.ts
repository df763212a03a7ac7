// npm run soak: ten minutes (-- --minutes 1: one) of mixed requests to the production bundle. Fails
// if a response is unexpected, if memory keeps growing in a run of eight minutes or more, or if the
// database does not hold what was acknowledged.
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { makeLocalParts } from './restartable.ts';
import { report, soak } from './soak.ts';

/** For the set-up, and for the comparison afterwards. */
const EXTRA_MS = 3 * 60_000;

const { values: options } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } });
const minutes = Number(options.minutes);
if (!(minutes >= 0.1 && minutes <= 24 * 60)) throw new RangeError('--minutes takes a number from 0.1 to 1440');
const tooLate = setTimeout(
  () => {
    console.error(`not finished ${EXTRA_MS / 60_000} minutes after the load should have ended`);
    process.exit(1);
  },
  minutes * 60_000 + EXTRA_MS,
);
tooLate.unref();

const parts = await makeLocalParts();
process.once('exit', () => rmSync(parts.database.persistTo, { recursive: true, force: true }));
process.once('SIGINT', () => process.exit(130));

const run = await soak(minutes, parts);
console.log(report(run));
for (const problem of run.problems.slice(0, 20)) console.error(problem);
console.log(run.problems.length === 0 ? 'No problems.' : `${run.problems.length} problems.`);
if (run.problems.length > 0) process.exitCode = 1;
