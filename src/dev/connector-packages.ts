// The connectors as archives that npm installs. They are built without their own tools: only npm run test:connectors
// installs these.
import { execFile } from 'node:child_process';
import { glob, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { transform } from 'esbuild';
import { packTar } from 'modern-tar';

const CONNECTORS = 'src/connectors';
const N8N_NODE = 'n8n-nodes-ticket-write-back';
const TSC = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc');

/** The address in the files of connectors and recipes. */
const EXAMPLE = 'https://tickets.example';

/** A file that programs import, with the address of the service that offers it. */
export const withAddress = (file: string, serviceUrl = EXAMPLE) =>
  file.replaceAll(EXAMPLE, serviceUrl).replaceAll(`"${new URL(EXAMPLE).host}"`, `"${new URL(serviceUrl).host}"`);

/** The archives by the names that `npm pack` gives them, and the files of the Power Automate connector. */
export async function connectorPackages(serviceUrl?: string): Promise<Map<string, string | Buffer>> {
  const packages = [
    ['client-typescript', await compiledClient()],
    [N8N_NODE, await compiledNode()],
  ] as const;
  const archives = packages.map(async ([name, code]) => {
    const files = new Map(code);
    for (const file of ['package.json', 'README.md'])
      files.set(file, await readFile(join(CONNECTORS, name, file), 'utf8'));
    const entries = Array.from(files, ([path, content]) => {
      const body = Buffer.from(withAddress(content, serviceUrl));
      // Without the time, so that the same files give the same bytes.
      return { header: { name: `package/${path}`, size: body.length, mtime: new Date(0) }, body };
    });
    return [await archiveName(name), gzipSync(await packTar(entries))] as const;
  });
  const definition = ['apiDefinition.swagger.json', 'apiProperties.json'].map(
    async (name) =>
      [name, withAddress(await readFile(join(CONNECTORS, 'power-automate', name), 'utf8'), serviceUrl)] as const,
  );
  return new Map<string, string | Buffer>(await Promise.all([...archives, ...definition]));
}

async function archiveName(name: string): Promise<string> {
  const { name: packageName, version } = JSON.parse(await readFile(join(CONNECTORS, name, 'package.json'), 'utf8'));
  return `${packageName}-${version}.tgz`;
}

/** The client with its types. They are not checked here: `npm test` does. */
async function compiledClient(): Promise<Map<string, string>> {
  const outDir = await mkdtemp(join(tmpdir(), 'twb-connector-'));
  try {
    const args = [TSC, '-p', join(CONNECTORS, 'client-typescript'), '--noCheck', '--outDir', outDir];
    await promisify(execFile)(process.execPath, args);
    const files = new Map<string, string>();
    for (const file of (await readdir(outDir)).sort())
      files.set(`dist/${file}`, await readFile(join(outDir, file), 'utf8'));
    return files;
  } finally {
    await rm(outDir, { recursive: true });
  }
}

/** The n8n node as CommonJS, with its icons. Only n8n's own tools check its types, because they contain them. */
async function compiledNode(): Promise<Map<string, string>> {
  const directory = join(CONNECTORS, N8N_NODE);
  const files = new Map<string, string>();
  for await (const name of glob('{credentials,nodes}/**/*.ts', { cwd: directory })) {
    const { code } = await transform(await readFile(join(directory, name), 'utf8'), { loader: 'ts', format: 'cjs' });
    files.set(`dist/${name.replaceAll(sep, '/').replace(/ts$/, 'js')}`, code);
  }
  for (const name of await readdir(join(directory, 'icons')))
    files.set(`dist/icons/${name}`, await readFile(join(directory, 'icons', name), 'utf8'));
  return new Map([...files].sort());
}
