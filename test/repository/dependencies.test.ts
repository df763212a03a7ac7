import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

type Versions = Record<string, string>;
interface Manifest {
  dependencies?: Versions;
  devDependencies?: Versions;
  optionalDependencies?: Versions;
}

const json = async <T>(path: string): Promise<T> => JSON.parse(await readFile(path, 'utf8'));
const {
  dependencies: shipped = {},
  devDependencies: tools = {},
  optionalDependencies: binaries = {},
} = await json<Manifest>('package.json');

/** The code below a directory as one text. */
async function codeIn(directory: string): Promise<string> {
  const names = (await readdir(directory, { recursive: true })).filter(
    (name) => /\.(tsx?|js)$/.test(name) && !name.includes('node_modules'),
  );
  return (await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')))).join('\n');
}

test('every version is exact', async () => {
  const { devDependencies: clients = {} } = await json<Manifest>('test/clients/package.json');
  const versions = Object.entries({ ...shipped, ...tools, ...binaries, ...clients });
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
});

test('every package that ships is used by the code', async () => {
  const code = await codeIn('src');
  const unused = Object.keys(shipped).filter((name) => !new RegExp(`['"]${name}(/[^'"]+)?['"]`).test(code));
  expect(unused).toEqual([]);
});
