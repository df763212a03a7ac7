import { execFile } from 'node:child_process';
import { cp, glob, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CRON_TRIGGERS } from '../../src/jobs.ts';
import { withLocalD1 } from '../../src/ops/local.ts';
import { LOCAL_RESOURCES, wranglerConfig } from '../../src/ops/wrangler-config.ts';
import type { Connection } from '../../src/rpc/connection.ts';
import { makeKey } from '../reliability/restartable.ts';
import type { LocalDatabase } from '../support/command.ts';
import { inLongRuns } from '../support/property.ts';
import { copyDatabase } from '../support/shared.ts';

// The optional modules can be deleted as src/README.md says: their folders and their lines in the lists. This is done in a
// copy without the tests of modules, for all of them at once.

const run = promisify(execFile);
/** The lists of the modules. */
const LISTS = ['src/modules.ts', 'src/agents/modules.ts', 'src/ops/modules.ts', 'src/docs/modules.ts'];
/** The entry points that export the Durable Object of the push, and the files that name it. */
const PUSHER: Record<string, RegExp> = {
  'src/index.ts': /^export \{ Pusher \}.*\n/gm,
  'src/dev/index.tsx': /^export \{ Pusher \}.*\n/gm,
  'wrangler.toml': /^\[\[durable_objects\.bindings\]\]\nname = "PUSHER"\n.*\n|^new_sqlite_classes = \["Pusher"\]/gm,
  // `npm run types` writes it.
  'src/bindings.d.ts': /^\tPUSHER: .*\n| \| "Pusher"/gm,
};

let copy: string;
let database: LocalDatabase;
let key: string;
beforeAll(async () => {
  [copy, database] = await Promise.all([copyRepository(), copyDatabase('demo')]);
  ({ value: key } = await withLocalD1(database.persistTo, (db) => makeKey(db, 'northwind', 'Without modules')));
});
afterAll(() => Promise.all([rm(copy, { recursive: true }), database.remove()]));

async function edit(path: string, change: (text: string) => string): Promise<void> {
  const file = join(copy, path);
  const text = await readFile(file, 'utf8');
  const changed = change(text);
  if (changed === text) throw new Error(`nothing to delete in ${path}`);
  await writeFile(file, changed);
}

/** Deletes the imports of modules from a list, and their names from its array. */
function withoutModules(list: string): string {
  let text = list;
  for (const [line, name] of list.matchAll(/^import \{ (\w+) \} from '.*modules\/.*\n/gm))
    text = text.replace(line, '').replace(/= \[([^\]]*)\]/, (_, names: string) => {
      const rest = names.split(',').map((each) => each.trim());
      return `= [${rest.filter((each) => each !== name && each !== '').join(', ')}]`;
    });
  return text;
}

/** What of the repository the copy has. */
async function copyRepository(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'ticket-write-back-modules-'));
  for (const path of [
    'src',
    'build',
    'migrations',
    'wrangler.toml',
    'tsconfig.json',
    'vitest.config.ts',
    'package.json',
    'package-lock.json',
    'CHANGELOG.md',
  ])
    await cp(path, join(directory, path), { recursive: true });
  // Of the tests, those of the core that need no module. The examples of statements include those of modules.
  const others = ['test/clients', 'test/modules', 'test/db/every-statement.test.ts'];
  await cp('test', join(directory, 'test'), { recursive: true, filter: (path) => !others.includes(path) });
  await symlink(resolve('node_modules'), join(directory, 'node_modules'));
  const config = {
    extends: './tsconfig.json',
    // Later compilations check only what a deletion affects.
    compilerOptions: { incremental: true, tsBuildInfoFile: './src.tsbuildinfo' },
    include: ['src'],
  };
  await writeFile(join(directory, 'tsconfig.src.json'), JSON.stringify(config));
  return directory;
}

async function deleteModules(): Promise<void> {
  await rm(join(copy, 'src/modules'), { recursive: true });
  for (const path of LISTS) await edit(path, withoutModules);
  for (const [path, lines] of Object.entries(PUSHER))
    await edit(path, (text) =>
      text.replaceAll(lines, (line) => (line.startsWith('new_') ? 'deleted_classes = []' : '')),
    );
}

/** Runs a program in the copy. @throws Error with what it printed */
async function runInCopy(program: string, ...args: string[]): Promise<void> {
  await run(program, args, { cwd: copy }).catch(({ stdout, stderr }: { stdout: string; stderr: string }) => {
    throw new Error(`${stdout}\n${stderr}`.slice(-4_000));
  });
}

/** Renders the pages. @throws Error if one links to a page that is not there */
async function render(): Promise<void> {
  await runInCopy('node', 'src/dev/render.ts');
  const files = new Map<string, string>();
  for await (const name of glob('**/*.*', { cwd: join(copy, 'build/static') }))
    files.set(`/${name.replace(/\.html$/, '')}`, await readFile(join(copy, 'build/static', name), 'utf8'));
  const missing = Array.from(files, ([page, text]) =>
    Array.from(text.matchAll(/ href="(\/(?:docs|psa|mcp)[^"#]*)/g), ([, href = '']) => `${page}: ${href}`).filter(
      (link) => !files.has(link.slice(link.indexOf(' ') + 1)),
    ),
  );
  expect(missing.flat()).toEqual([]);
}

const CONNECTION_PROPS = { organization: 'northwind', administrators: [] };

/** Bundles and starts both Workers: a note is written, an adapter reads its change, and the jobs run. */
async function use(): Promise<void> {
  const { outputFiles } = await build({
    absWorkingDir: copy,
    entryPoints: { api: 'src/index.ts', agents: 'src/agents/index.ts' },
    outdir: 'bundles',
    bundle: true,
    format: 'esm',
    conditions: ['workerd', 'worker'],
    external: ['cloudflare:*', 'node:*'],
    write: false,
  });
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      resourcePersistencePath: `${database.persistTo}/v3`,
      cf: false,
      handleStructuredLogs: () => undefined,
      workers: ['api', 'agents'].map((name) => ({
        name,
        modules: outputFiles
          .filter(({ path }) => path.endsWith(`${name}.js`))
          .map(({ text }) => ({ type: 'ESModule' as const, path: 'index.js', contents: text })),
        compatibilityDate: wranglerConfig.compatibility_date,
        compatibilityFlags: wranglerConfig.compatibility_flags,
        ...LOCAL_RESOURCES,
        ...(name === 'api'
          ? { durableObjects: { RATE_LIMITER: { className: 'RateLimiter', useSQLite: true } } }
          : { serviceBindings: { CONNECTION: { name: 'api', entrypoint: 'Connection', props: CONNECTION_PROPS } } }),
      })),
    }),
  );
  try {
    const response = await miniflare.dispatchFetch('https://tickets.example/api/v1/tickets/1001/notes', {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ message: 'Written without modules' }),
    });
    expect([response.status, await response.json()]).toEqual([201, { note: expect.anything() }]);
    const { CONNECTION } = await miniflare.getBindings<{ CONNECTION: Pick<Connection, 'changes'> }>('agents');
    const created = expect.arrayContaining([expect.objectContaining({ action: 'note.created' })]);
    expect(await CONNECTION.changes(null)).toMatchObject({ ok: true, value: { changes: created } });
    const api = await miniflare.getWorker('api');
    for (const cron of Object.values(CRON_TRIGGERS))
      expect([cron, await api.scheduled({ cron })]).toMatchObject([cron, { outcome: 'ok' }]);
  } finally {
    await miniflare.dispose();
  }
}

/**
 * Type-checks all of src, and builds as a deployment does: layers.test.ts forbids the imports, even of types, for which it
 * would fail.
 */
async function compileAndBuild(): Promise<void> {
  // One thread needs half of the processor time of several.
  await runInCopy('tsc', '-p', 'tsconfig.src.json', '--singleThreaded');
  await runInCopy('npm', 'run', 'build');
}

/** Also runs all tests of the core in workerd. */
async function checkInLongRuns(): Promise<void> {
  if (inLongRuns(false, true)) return;
  await compileAndBuild();
  await runInCopy('vitest', 'run', '--project', 'workerd');
}

test.each(inLongRuns(['connectwise', 'halo', 'redmine'], ['halo']))(
  'without the adapter for %s, the other adapters are built, the pages are rendered, and the commands work',
  async (adapter) => {
    await rm(join(copy, 'src/adapters', adapter), { recursive: true });
    try {
      const entryPoints: string[] = [];
      for await (const path of glob('src/adapters/*/index.ts', { cwd: copy })) entryPoints.push(path);
      expect(entryPoints).not.toEqual([]);
      const settings = { outdir: 'adapters', bundle: true, external: ['cloudflare:*'], write: false };
      await build({ absWorkingDir: copy, entryPoints, format: 'esm', ...settings });
      await render();
      await runInCopy('node', 'src/ops/ops.ts', 'adapter:doctor', '--help');
      if (inLongRuns(true, false)) await compileAndBuild();
    } finally {
      await cp('src/adapters', join(copy, 'src/adapters'), { recursive: true });
    }
  },
  900_000,
);

test('without any module, the pages are rendered, and both Workers work', async () => {
  await deleteModules();
  await Promise.all([render(), use()]);
  await checkInLongRuns();
}, 900_000);
