import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, parse, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, transform } from 'esbuild';
import { type Config, parseConfig } from '../config.ts';
import { connectorPackages, withAddress } from './connector-packages.ts';

const ASSETS = 'src/assets';
const OUTDIR = 'build';
const STATIC = join(OUTDIR, 'static');
/** The names of stylesheet and script, which the Worker imports. */
const PAGE_FILES = join(OUTDIR, 'page-files.json');
/** The page of each adapter, by its folder, which the renderer imports. */
const ADAPTER_PAGES = join(OUTDIR, 'adapter-pages.json');
const RENDERER = join(OUTDIR, 'render-docs.mjs');

/**
 * Makes the static files in build/static: those of src/assets and of the modules, with stylesheet and script minified and
 * named by their content, the documentation, rendered with the defaults of all variables or those of a deployment, and the
 * connectors. Several processes may do so at the same time: a file is replaced as a whole, and only if its content changes.
 */
export async function makeStaticFiles(deployment: string | undefined): Promise<void> {
  const files = new Map<string, string | Uint8Array>();
  for (const directory of [ASSETS, ...globSync('src/modules/*/assets')])
    for (const name of await namesIn(directory)) files.set(name, await readFile(join(directory, name)));
  const [stylesheet, script] = [await minify(files, 'pages.css', 'css'), await minify(files, 'pages.js', 'js')];
  await replace(PAGE_FILES, JSON.stringify({ stylesheet: `/${stylesheet}`, script: `/${script}` }));
  const adapterPages: Record<string, string> = {};
  for (const path of globSync('src/adapters/*/docs/connect.md').sort())
    adapterPages[basename(dirname(dirname(path)))] = await readFile(path, 'utf8');
  await replace(ADAPTER_PAGES, JSON.stringify(adapterPages));
  const config = await readConfig(deployment);
  for (const [name, page] of await renderDocs(config)) files.set(name, page);
  for (const [name, file] of files)
    if (/^docs\/recipes\/.+\.json$/.test(name)) files.set(name, withAddress(String(file), config.serviceUrl));
  for (const [name, file] of await connectorPackages(config.serviceUrl)) files.set(`docs/connectors/${name}`, file);

  for (const [name, content] of files) await replace(join(STATIC, name), content);
  for (const name of await namesIn(STATIC)) if (!files.has(name)) await rm(join(STATIC, name), { force: true });
}

/** Minifies a file, and renames it, such as pages.css to pages.0a1b2c3d.css, so that browsers can keep it for a year. */
async function minify(files: Map<string, string | Uint8Array>, name: string, loader: 'css' | 'js'): Promise<string> {
  const { code } = await transform(await readFile(join(ASSETS, name)), { loader, minify: true });
  const { name: stem, ext } = parse(name);
  const renamed = `${stem}.${createHash('sha256').update(code).digest('hex').slice(0, 8)}${ext}`;
  files.delete(name);
  files.set(renamed, code);
  return renamed;
}

/** The configuration of the deployment, or the defaults. */
async function readConfig(deployment: string | undefined): Promise<Config> {
  if (deployment === undefined) return parseConfig({});
  const { configOf, readDeployment } = await import('../ops/deploy/deployment-file.ts');
  return configOf(await readDeployment(deployment));
}

/** Bundles the renderer first, because Node does not run JSX. */
async function renderDocs(config: Config): Promise<Map<string, string>> {
  const { outputFiles } = await build({
    entryPoints: ['src/docs/render.tsx'],
    bundle: true,
    format: 'esm',
    packages: 'external',
    // The texts of the pages, and the files that they show.
    loader: { '.md': 'text', '.py': 'text', '.mjs': 'text' },
    write: false,
  });
  for (const { contents } of outputFiles) await replace(RENDERER, contents);
  const renderer: typeof import('../docs/render.tsx') = await import(pathToFileURL(RENDERER).href);
  return renderer.renderDocs(config);
}

/** The files in a directory and its subdirectories, with `/` in their names. */
async function namesIn(directory: string): Promise<string[]> {
  await mkdir(directory, { recursive: true });
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return paths.map((path) => relative(directory, path).replaceAll(sep, '/'));
}

/** Writes a file, unless it has this content already. */
async function replace(path: string, content: string | Uint8Array): Promise<void> {
  const bytes = Buffer.from(content);
  if ((await readIfThere(path))?.equals(bytes)) return;
  await mkdir(dirname(path), { recursive: true });
  const temporary = join(OUTDIR, `${process.pid}.tmp`);
  await writeFile(temporary, bytes);
  await rename(temporary, path);
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (err) {
    if (err instanceof Error && 'code' in err && err.code === 'ENOENT') return undefined;
    throw err;
  }
}
