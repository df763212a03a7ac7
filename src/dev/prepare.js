// Runs after every npm install. It is JavaScript that also runs on Node 20, because npm may start
// it with the system's Node.
import { link, readFile, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

// import.meta.dirname exists from Node 20.11 on.
const HERE = dirname(fileURLToPath(import.meta.url));
const MODULES = join(HERE, '../../node_modules');

// npm runs this for `npm ci --dry-run` and `npm install --package-lock-only` too, which install
// nothing.
const installsNothing =
  process.env['npm_config_dry_run'] === 'true' || process.env['npm_config_package_lock_only'] === 'true';
if (!installsNothing) await linkNode();

/**
 * Puts the Node of this platform's package first in the PATH of npm scripts and npx. npm 11 does
 * this itself. npm 10 removes its link again together with the packages of the other platforms,
 * because each of them has an executable named `node`.
 */
async function linkNode() {
  const { optionalDependencies } = JSON.parse(await readFile(join(HERE, '../../package.json'), 'utf8'));
  for (const name of Object.keys(optionalDependencies)) {
    const manifest = await readFile(join(MODULES, name, 'package.json'), 'utf8').catch(() => undefined);
    if (manifest === undefined) continue;
    const { os, cpu, bin } = JSON.parse(manifest);
    if (os !== process.platform || cpu !== process.arch) continue;
    const from = join(MODULES, name, bin.node);
    const to = join(MODULES, '.bin', os === 'win32' ? 'node.exe' : 'node');
    if (await isSameFile(from, to)) continue;
    await rm(to, { force: true });
    // Windows lets only administrators make symbolic links.
    await (os === 'win32' ? link(from, to) : symlink(relative(dirname(to), from), to));
  }
}

async function isSameFile(one, other) {
  const [a, b] = await Promise.all([one, other].map((path) => stat(path, { bigint: true }).catch(() => undefined)));
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino;
}
