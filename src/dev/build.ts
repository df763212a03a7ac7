// npm run build, npm run build:agents: writes the files that the deployment of a Worker uploads. It
// fails if they are too large, because every isolate loads all of them when it starts, or if they do
// not start.
import { once } from 'node:events';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { spawnWrangler } from '../ops/wrangler.ts';
import { readWranglerConfig } from '../ops/wrangler-config.ts';
import { startBundle } from './start-bundle.ts';

const { values: options } = parseArgs({
  options: {
    config: { type: 'string', default: 'wrangler.toml' },
    outdir: { type: 'string', default: 'dist' },
    'max-kb': { type: 'string' },
  },
});
const { config, 'max-kb': maxKilobytes } = options;
// Wrangler would resolve it from the directory of the configuration.
const outdir = resolve(options.outdir);

const parsed = readWranglerConfig(config);

await rm(outdir, { recursive: true, force: true });
const wrangler = spawnWrangler(['deploy', '-c', config, '--dry-run', '--outdir', outdir], { stdio: 'inherit' });
const [code] = await once(wrangler, 'close');
if (code !== 0) throw new Error(`wrangler ended with ${code}`);

const kilobytes = (await gzippedSize(outdir)) / 1024;
const verdict = `${kilobytes.toFixed(1)} KB gzipped, at most ${maxKilobytes} KB`;
// Also rejects NaN.
if (!(kilobytes > 0 && kilobytes <= Number(maxKilobytes))) throw new Error(`the bundle is too large: ${verdict}`);
await startBundle(join(outdir, 'index.js'), parsed.vars).catch((err: unknown) => {
  // Only the reason: with the position, Node would print all of the minified code.
  throw new Error(`the bundle does not start: ${err}`);
});
console.log(`The bundle starts: ${verdict}.`);

/** The size of all modules, without the README and source maps that wrangler adds and never loads. */
async function gzippedSize(directory: string): Promise<number> {
  const modules = (await readdir(directory)).filter((name) => name !== 'README.md' && !name.endsWith('.map'));
  const sizes = await Promise.all(modules.map(async (name) => gzipSync(await readFile(join(directory, name))).length));
  return sizes.reduce((sum, size) => sum + size, 0);
}
