import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { parse } from 'smol-toml';
import { expect, test } from 'vitest';

type Versions = Record<string, string>;
interface Manifest {
  dependencies?: Versions;
  devDependencies?: Versions;
  optionalDependencies?: Versions;
  allowScripts?: Record<string, boolean>;
}
interface LockEntry extends Manifest {
  version?: string;
  integrity?: string;
  resolved?: string;
  link?: boolean;
  hasInstallScript?: boolean;
  os?: string | string[];
  cpu?: string | string[];
}

const run = promisify(execFile);
const json = async <T>(path: string): Promise<T> => JSON.parse(await readFile(path, 'utf8'));
const manifest = await json<Manifest>('package.json');
const { packages } = await json<{ packages: Record<string, LockEntry> }>('package-lock.json');

/**
 * Where Node finds a package that the one at `path` depends on: in its own node_modules, or in
 * those of a folder above.
 */
function find(path: string, name: string): string | undefined {
  const candidate = `${path === '' ? '' : `${path}/`}node_modules/${name}`;
  if (candidate in packages) return candidate;
  return path === '' ? undefined : find(path.slice(0, Math.max(0, path.lastIndexOf('/'))), name);
}

test('the lock file contains every required package, for every platform, with its digest', () => {
  const missing: string[] = [];
  for (const [path, { dependencies, devDependencies, optionalDependencies }] of Object.entries(packages)) {
    // The development dependencies of a package from the registry are not installed.
    const names = Object.keys({
      ...dependencies,
      ...(!path.includes('node_modules/') && devDependencies),
      ...optionalDependencies,
    });
    for (const name of names) {
      const { integrity, link } = packages[find(path, name) ?? ''] ?? {};
      if (find(path, name) === undefined || !(integrity || link)) missing.push(`${name}, of ${path}`);
    }
  }
  expect(missing).toEqual([]);
  const systems = new Set(Object.values(packages).flatMap(({ os = [] }) => os));
  for (const system of ['darwin', 'linux', 'win32']) expect(systems).toContain(system);
});

test('npm finds the lock file complete', async () => {
  await expect(run('npm', ['ci', '--dry-run', '--offline', '--ignore-scripts'])).resolves.toBeDefined();
});

test('the lock file contains no registry', () => {
  const resolved = Object.values(packages).flatMap(({ resolved, link }) =>
    resolved === undefined || link ? [] : [resolved],
  );
  expect(resolved).toEqual([]);
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

test('every installed workerd knows the compatibility date', async () => {
  const { compatibility_date: date } = parse(await readFile('wrangler.toml', 'utf8'));
  const versions = Object.entries(packages).flatMap(([path, { version = '' }]) =>
    path.endsWith('node_modules/workerd') ? [version] : [],
  );
  expect(versions.length).toBeGreaterThan(0);
  for (const version of versions) {
    const [, year, month, day] = /^1\.(\d{4})(\d\d)(\d\d)\./.exec(version) ?? [];
    expect(`${year}-${month}-${day}` >= String(date)).toBe(true);
  }
});
