// npm run check: format and lint, unused code, types, and the types of the bindings, checked at the same time. Each check
// prints what it found when it ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

const CHECKS = [
  'biome ci .',
  'knip',
  'tsc --singleThreaded --incremental --tsBuildInfoFile node_modules/.cache/tsc.tsbuildinfo',
  'wrangler types --check src/bindings.d.ts',
];

await Promise.all(
  CHECKS.map(async (command) => {
    // Windows starts these programs only through a shell.
    const check = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const [stdout, stderr, [code]] = await Promise.all([text(check.stdout), text(check.stderr), once(check, 'close')]);
    console.log(`> ${command}\n${stdout}${stderr}`);
    if (code !== 0) process.exitCode = 1;
  }),
);
