import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

interface Manifest {
  optionalDependencies?: Record<string, string>;
  allowScripts?: Record<string, boolean>;
}
interface LockEntry extends Manifest {
  version?: string;
  hasInstallScript?: boolean;
  os?: string | string[];
  cpu?: string | string[];
}

const run = promisify(execFile);
const json = async <T>(path: string): Promise<T> => JSON.parse(await readFile(path, 'utf8'));
const manifest = await json<Manifest>('package.json');
const { packages } = await json<{ packages: Record<string, LockEntry> }>('package-lock.json');

test('npm finds the lock file complete, for every platform', async () => {
  await expect(run('npm', ['ci', '--dry-run', '--offline', '--ignore-scripts'])).resolves.toBeDefined();
});

test('one version of Node runs the scripts, locked for every platform that workerd supports', async () => {
  const binaries = Object.entries(manifest.optionalDependencies ?? {});
  expect(new Set(binaries.map(([, version]) => version)).size).toBe(1);
  const platforms = (names: string[]) =>
    names.map((name) => `${packages[`node_modules/${name}`]?.os} ${packages[`node_modules/${name}`]?.cpu}`);
  const workerd = Object.keys(packages['node_modules/workerd']?.optionalDependencies ?? {});
  expect(platforms(binaries.map(([name]) => name)).sort()).toEqual(platforms(workerd).sort());
  const { stdout } = await run('npx', ['node', '--version']);
  expect(stdout.trim()).toBe(`v${binaries[0]?.[1]}`);
});

test('no package runs a script when it is installed', () => {
  const withScript = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript);
  const names = new Set(
    withScript.map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)),
  );
  expect(manifest.allowScripts).toEqual(Object.fromEntries([...names].map((name) => [name, false])));
});
