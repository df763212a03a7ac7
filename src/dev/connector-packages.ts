// The connectors as archives that npm installs. They are built without their own tools: only npm run test:connectors
// installs these.
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { tarball } from './tarball.ts';

const CONNECTORS = 'src/connectors';
const TSC = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc');

/** The archives by the names that `npm pack` gives them. */
export async function connectorPackages(): Promise<Map<string, Buffer>> {
  const files = await compiled('client-typescript');
  return new Map([[await archiveName('client-typescript'), tarball(files)]]);
}

async function archiveName(name: string): Promise<string> {
  const { name: packageName, version } = JSON.parse(await readFile(join(CONNECTORS, name, 'package.json'), 'utf8'));
  return `${packageName}-${version}.tgz`;
}

/** A package with its compiled code. Types are not checked here, because that needs the package's own tools. */
async function compiled(name: string): Promise<Map<string, string>> {
  const directory = join(CONNECTORS, name);
  const outDir = await mkdtemp(join(tmpdir(), 'twb-connector-'));
  try {
    await promisify(execFile)(process.execPath, [TSC, '-p', directory, '--noCheck', '--outDir', outDir]);
    const files = new Map<string, string>();
    for (const file of ['package.json', 'README.md']) files.set(file, await readFile(join(directory, file), 'utf8'));
    for (const file of (await readdir(outDir)).sort())
      files.set(`dist/${file}`, await readFile(join(outDir, file), 'utf8'));
    return files;
  } finally {
    await rm(outDir, { recursive: true });
  }
}
