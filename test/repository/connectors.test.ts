import { access, glob, readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { connectorFiles } from '../../src/dev/connector-files.ts';
import { connectorPackages } from '../../src/dev/connector-packages.ts';
import { type Contract, readContract } from '../../src/dev/contract.ts';

const NODE = 'src/connectors/n8n-nodes-ticket-write-back';

const generated = await connectorFiles(await readContract());

test.each([...generated.keys()])('%s follows the contract: npm run connectors would not change it', async (path) => {
  expect(await readFile(path, 'utf8')).toBe(generated.get(path));
});

/** The generated files that a change of the contract would change. */
async function changedBy(change: (document: Contract) => void): Promise<string[]> {
  const document = await readContract();
  change(document);
  const files = await connectorFiles(document);
  return [...files].filter(([path, content]) => content !== generated.get(path)).map(([path]) => path);
}
const propertiesOf = (document: Contract, name: string) => document.components.schemas[name]?.properties ?? {};

test.each<[what: string, change: (document: Contract) => void]>([
  [
    'a new field of a request',
    (document) => {
      propertiesOf(document, 'NoteRequest')['visibility'] = { type: 'string' };
    },
  ],
  [
    'another path',
    (document) => {
      document.paths = Object.fromEntries(Object.entries(document.paths).map(([path, value]) => [`${path}/x`, value]));
    },
  ],
])('every generated file changes with %s', async (_, change) => {
  expect(await changedBy(change)).toEqual([...generated.keys()]);
});

test('the parts of the n8n node that are not generated agree with the contract', async () => {
  const { servers, paths } = await readContract();
  const [pingPath] = Object.entries(paths).flatMap(([path, operations]) =>
    Object.values(operations).some(({ operationId }) => operationId === 'ping') ? [servers[0] + path] : [],
  );
  const credential = await readFile(`${NODE}/credentials/TicketWriteBackApi.credentials.ts`, 'utf8');
  expect(credential).toContain(`url: '${pingPath}'`);
  const node = await readFile(`${NODE}/nodes/TicketWriteBack/TicketWriteBack.node.ts`, 'utf8');
  const headers = Object.values(paths).flatMap(({ post }) => post?.parameters?.map(({ name }) => name) ?? []);
  for (const name of headers) expect(node).toContain(name);
});

test('a deployment serves the connectors with its own address', async () => {
  const files = await connectorPackages('https://help.northwind.example');
  expect(files.size).toBe(4);
  for (const [name, file] of files) {
    const text = String(name.endsWith('.tgz') ? gunzipSync(file) : file);
    expect(text).not.toContain('https://tickets.example');
    if (name.startsWith('n8n'))
      expect(text.match(/documentationUrl\W+https:\/\/help\.northwind\.example\/docs\/recipes\/n8n/g)).toHaveLength(2);
    if (name.endsWith('.swagger.json')) expect(JSON.parse(text)).toMatchObject({ host: 'help.northwind.example' });
  }
});

test('every file that recipes and README files offer under /docs/connectors exists', async () => {
  const offered: string[] = [];
  for await (const path of glob('src/{docs/recipes,connectors}/**/*.md', {
    exclude: (name) => name.includes('node_modules'),
  }))
    offered.push(...((await readFile(path, 'utf8')).match(/\/docs\/connectors\/[\w.-]+\w/g) ?? []));
  expect(new Set(offered).size).toBe(3);
  for (const path of offered) await access(`build/static${path}`);
});
