// npm run deploy: builds and deploys this commit. With several -c FILE, releases to one deployment
// after the other.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { prompt } from '../ops/input.ts';
import { spawnWrangler } from '../ops/wrangler.ts';
import { MAIN_CONFIG } from '../ops/wrangler-config.ts';
import { type Run, release } from './release.ts';

const { values: options } = parseArgs({
  options: {
    config: { type: 'string', short: 'c', multiple: true, default: [MAIN_CONFIG] },
    migrate: { type: 'boolean', default: false },
    agents: { type: 'boolean', default: false },
    /** Minutes between two deployments. Without it, the script asks. */
    wait: { type: 'string' },
  },
});

const run: Run = async (program, args) => {
  const child =
    program === 'wrangler'
      ? spawnWrangler([...args], { stdio: 'inherit' })
      : spawn(process.execPath, [process.env['npm_execpath'] ?? '', 'run', '-s', program, '--', ...args], {
          stdio: 'inherit',
        });
  const [code] = await once(child, 'close');
  if (code === 0) return;
  console.error(`${program} ${args.join(' ')} failed. The release ends here.`);
  process.exit(1);
};

await release(options.config, options, run, async (done, next) => {
  if (options.wait !== undefined) {
    console.log(`${done} is released. ${next} follows in ${options.wait} minutes; Ctrl-C ends the release.`);
    await setTimeout(Number(options.wait) * 60_000);
    return;
  }
  const answer = await prompt(`${done} is released. Verify it, then type yes to release ${next}: `);
  if (answer.trim() !== 'yes') process.exit(1);
});
