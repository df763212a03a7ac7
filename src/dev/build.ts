// npm run build: writes the files that the deployment of both Workers uploads. It fails if they are too
// large, because every isolate loads all of them when it starts, or if they do not start. With --deployment
// NAME it builds that deployment.
import { once } from 'node:events';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { readDeployment, SECRET_STAND_IN } from '../ops/deploy/deployment-file.ts';
import { writeConfigs } from '../ops/deploy/render-configs.ts';
import { spawnWrangler } from '../ops/wrangler.ts';
import { startBundle } from './start-bundle.ts';

const MAX_KILOBYTES = { main: 200, agents: 110 };

const { values: options } = parseArgs({ options: { deployment: { type: 'string' } } });
const deployment = options.deployment === undefined ? undefined : await readDeployment(options.deployment);
const configs = writeConfigs(options.deployment, deployment);

for (const worker of ['main', 'agents'] as const) {
  const outdir = resolve('dist', worker);
  await rm(outdir, { recursive: true, force: true });
  const { path } = configs[worker];
  const wrangler = spawnWrangler(['deploy', '-c', path, '--dry-run', '--outdir', outdir], { stdio: 'inherit' });
  const [code] = await once(wrangler, 'close');
  if (code !== 0) throw new Error(`wrangler ended with ${code}`);

  const kilobytes = (await gzippedSize(outdir)) / 1024;
  const verdict = `${kilobytes.toFixed(1)} KB gzipped, at most ${MAX_KILOBYTES[worker]} KB`;
  // Also rejects NaN.
  if (!(kilobytes > 0 && kilobytes <= MAX_KILOBYTES[worker]))
    throw new Error(`dist/${worker} is too large: ${verdict}`);
  await startBundle(join(outdir, 'index.js'), { ...configs.main.vars, ...SECRET_STAND_IN }).catch((err: unknown) => {
    // Only the reason: with the position, Node would print all of the minified code.
    throw new Error(`dist/${worker} does not start: ${err}`);
  });
  console.log(`The bundle in dist/${worker} starts: ${verdict}.`);
}

/** The size of all modules, without the README and source maps that wrangler adds and never loads. */
async function gzippedSize(directory: string): Promise<number> {
  const modules = (await readdir(directory)).filter((name) => name !== 'README.md' && !name.endsWith('.map'));
  const sizes = await Promise.all(modules.map(async (name) => gzipSync(await readFile(join(directory, name))).length));
  return sizes.reduce((sum, size) => sum + size, 0);
}
