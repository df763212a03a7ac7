// npm run deploy [NAME...]: builds and deploys this commit to one deployment after the other.
import { parseArgs } from 'node:util';
import { runScript } from '../command.ts';
import { deployWorkers } from './deploy-workers.ts';
import { deploymentName, requireDistinctDeployments } from './deployment-file.ts';
import { deploymentTools } from './deployment-tools.ts';

const HELP = `Usage: npm run deploy -- [NAME...] [--migrate] [--dry-run]
       npm run deploy -- --help

Builds this commit and deploys it to each deployment NAME. Default: the only one.

  --migrate  Apply the migrations of the database first.
  --dry-run  Show what would change, and end before the first change.`;

await runScript(HELP, async () => {
  const flag = { type: 'boolean', default: false } as const;
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { migrate: flag, 'dry-run': flag } });
  const { migrate, 'dry-run': dryRun } = values;
  const names = await Promise.all((positionals.length > 0 ? positionals : [undefined]).map(deploymentName));
  await requireDistinctDeployments();
  const tools = deploymentTools();
  for (const [index, name] of names.entries()) {
    if (index > 0 && !dryRun && !(await tools.agrees(`Verify it, then type yes to deploy ${name}: `))) return;
    await deployWorkers(name, { migrate, dryRun }, tools);
  }
});
