import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, test } from 'vitest';
import { inLongRuns } from '../support/property.ts';

// Each optional module can be deleted as src/README.md says: its folder, its tests, and its lines in
// the lists. This is done in a copy, to which a deleted module returns. The documentation is not compiled there: its pages describe the
// modules. Its static files are those that were rendered with all modules.

const run = promisify(execFile);
const MODULES = ['push', 'alerts', 'archive', 'psa', 'mcp'] as const;
type ModuleName = (typeof MODULES)[number];

/** The lists of the modules. */
const LISTS = ['src/modules.ts', 'src/agents/modules.ts', 'src/ops/modules.ts'];
/** The entry points that export the Durable Object of the push, and the files that name it. */
const PUSHER: Record<string, RegExp> = {
  'src/index.ts': /^export \{ Pusher \}.*\n/m,
  'wrangler.toml': /^\[\[durable_objects\.bindings\]\]\nname = "PUSHER"\n.*\n|^new_sqlite_classes = \["Pusher"\]/gm,
  // `npm run types` writes it.
  'src/bindings.d.ts': /^\tPUSHER: .*\n| \| "Pusher"/gm,
};

/** What compiles without the documentation: both Workers and the commands. */
const ENTRIES = [
  'src/index.ts',
  'src/agents/index.ts',
  'src/ops/ops.ts',
  'src/bindings.d.ts',
  'src/http/page/page-files.d.ts',
];

let copy: string;
beforeAll(async () => {
  copy = await copyRepository();
});
afterAll(() => rm(copy, { recursive: true }));

async function edit(path: string, change: (text: string) => string): Promise<void> {
  const file = join(copy, path);
  const text = await readFile(file, 'utf8');
  const changed = change(text);
  if (changed === text) throw new Error(`nothing to delete in ${path}`);
  await writeFile(file, changed);
}

/** Deletes the lines of a module in a list: its imports, and their names in the array. */
function withoutModule(list: string, module: ModuleName): string {
  let text = list;
  for (const [line, name] of list.matchAll(new RegExp(`^import \\{ (\\w+) \\} from '.*modules/${module}/.*\\n`, 'gm')))
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
  ])
    await cp(path, join(directory, path), { recursive: true });
  await cp('test', join(directory, 'test'), { recursive: true, filter: (path) => !path.startsWith('test/clients') });
  await writeFile(join(directory, 'src/dev/render.ts'), '');
  await symlink(resolve('node_modules'), join(directory, 'node_modules'));
  const config = {
    extends: './tsconfig.json',
    // In a long run, later compilations check only what a deletion affects.
    compilerOptions: { incremental: true, tsBuildInfoFile: './entries.tsbuildinfo' },
    include: [],
    files: ENTRIES,
  };
  await writeFile(join(directory, 'tsconfig.entries.json'), JSON.stringify(config));
  return directory;
}

async function deleteModules(modules: readonly ModuleName[]): Promise<void> {
  for (const module of modules) {
    await rm(join(copy, 'src/modules', module), { recursive: true });
    await rm(join(copy, 'test/modules', module), { recursive: true });
    const lists = await Promise.all(
      LISTS.map(async (path) => ({ path, text: await readFile(join(copy, path), 'utf8') })),
    );
    const having = lists.filter(({ text }) => withoutModule(text, module) !== text);
    if (having.length < 2) throw new Error(`${module} is in fewer than two lists`);
    for (const { path } of having) await edit(path, (text) => withoutModule(text, module));
  }
  if (modules.includes('push'))
    for (const [path, lines] of Object.entries(PUSHER))
      await edit(path, (text) =>
        text.replaceAll(new RegExp(lines, 'gm'), (line) => (line.startsWith('new_') ? 'deleted_classes = []' : '')),
      );
}

/** Brings the modules back. */
async function restoreModules(): Promise<void> {
  for (const path of ['src/modules', 'test/modules', ...LISTS, ...Object.keys(PUSHER)])
    await cp(path, join(copy, path), { recursive: true });
}

/** @throws Error with what the compiler says */
async function compile(): Promise<void> {
  // One thread needs half of the processor time of several.
  await run('tsc', ['-p', 'tsconfig.entries.json', '--singleThreaded'], { cwd: copy }).catch(
    ({ stdout }: { stdout: string }) => {
      throw new Error(stdout);
    },
  );
}

test.each(MODULES)('without %s, both Workers and the commands compile', async (module) => {
  await deleteModules([module]);
  try {
    await compile();
  } finally {
    await restoreModules();
  }
});

/** Tests of the core that use no module. */
const CORE_TESTS = [
  'test/http/api/writes.test.ts',
  'test/http/well-known.test.ts',
  'test/http/write-responses.test.ts',
  'test/jobs.test.ts',
  'test/rpc',
  'test/services/keys/create-key.test.ts',
  'test/services/keys/revoke-key.test.ts',
  'test/services/keys/rotate-key.test.ts',
];

test('without any module, both Workers and the commands compile, and tests of the core pass', async () => {
  await deleteModules(MODULES);
  await compile();
  const tests = inLongRuns(['test/http/api', 'test/rpc', 'test/http/settings'], CORE_TESTS);
  // A second runtime would take longer to start than these tests run.
  await run('vitest', ['run', '--project', 'workerd', '--no-file-parallelism', ...tests], { cwd: copy }).catch(
    ({ stdout, stderr }: { stdout: string; stderr: string }) => {
      throw new Error(`${stdout}\n${stderr}`.slice(-4_000));
    },
  );
}, 300_000);
