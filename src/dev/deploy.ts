// npm run deploy [NAME...]: builds and deploys this commit to one deployment after the other.
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { cloudflareApi } from '../ops/cloudflare-api.ts';
import { explain, UsageError } from '../ops/command.ts';
import { deploymentName, requireDistinctDeployments } from '../ops/deployment.ts';
import { agrees, release, runProgram } from './release.ts';

const MAX_WAIT_MINUTES = 1_440;

function parseWait(text: string): number {
  const minutes = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (minutes <= MAX_WAIT_MINUTES) return minutes;
  throw new UsageError(`--wait ${text} is not a number of minutes. Write 0 to ${MAX_WAIT_MINUTES}.`);
}

async function deploy(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      migrate: { type: 'boolean', default: false },
      'dry-run': { type: 'boolean', default: false },
      /** Minutes between two deployments. Without it, the script asks. */
      wait: { type: 'string' },
    },
  });
  const { migrate, 'dry-run': dryRun } = values;
  const wait = values.wait === undefined ? undefined : parseWait(values.wait);
  const names = await Promise.all((positionals.length > 0 ? positionals : [undefined]).map(deploymentName));
  await requireDistinctDeployments();
  for (const [index, name] of names.entries()) {
    if (index > 0 && !dryRun && wait !== undefined) {
      console.log(`${name} follows in ${wait} minutes; Ctrl-C ends the release.`);
      await setTimeout(wait * 60_000);
    } else if (index > 0 && !dryRun && !(await agrees(`Verify it, then type yes to release ${name}: `))) return;
    await release(
      name,
      { migrate, dryRun },
      { run: runProgram, agrees, api: cloudflareApi, print: console.log, fetch },
    );
  }
}

try {
  await deploy();
} catch (err) {
  console.error(explain(err));
  process.exitCode = err instanceof UsageError ? 2 : 1;
}
