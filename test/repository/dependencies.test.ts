import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

type Versions = Record<string, string>;
interface Manifest {
  dependencies?: Versions;
  devDependencies?: Versions;
}

const json = async <T>(path: string): Promise<T> => JSON.parse(await readFile(path, 'utf8'));
const { dependencies: shipped = {}, devDependencies: tools = {} } = await json<Manifest>('package.json');
const readme = await readFile('README.md', 'utf8');

/** The code below a directory as one text. */
async function codeIn(directory: string): Promise<string> {
  const names = (await readdir(directory, { recursive: true })).filter((name) => /\.tsx?$/.test(name));
  return (await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')))).join('\n');
}

test('every version is exact, and the lock file has the digest of every package', async () => {
  const { devDependencies: clients = {} } = await json<Manifest>('test/clients/package.json');
  const inexact = Object.entries({ ...shipped, ...tools, ...clients }).filter(
    ([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
  );
  expect(inexact).toEqual([]);
  const { packages } = await json<{ packages: Record<string, { integrity?: string; link?: boolean }> }>(
    'package-lock.json',
  );
  const unsealed = Object.entries(packages).filter(
    ([path, { integrity, link }]) => path.includes('node_modules/') && !integrity && !link,
  );
  expect(unsealed).toEqual([]);
});

test('what ships is used by the code, and the README says what for', async () => {
  const code = await codeIn('src');
  const unused = Object.keys(shipped).filter((name) => !new RegExp(`['"]${name}(/[^'"]+)?['"]`).test(code));
  expect(unused).toEqual([]);
  const section = /^### Dependencies\n([\s\S]*?)\n##/m.exec(readme)?.[1] ?? '';
  expect(Array.from(section.matchAll(/^\| `([^`]+)` \|/gm), ([, name]) => name)).toEqual(Object.keys(shipped));
});
