import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { type Contract, connectorFiles, readContract } from '../../src/dev/connector-files.ts';

const NODE = 'src/connectors/n8n-nodes-ticket-write-back';
const CLIENT = 'src/connectors/client-typescript';

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

test.each([
  [`${CLIENT}/src/index.ts`, 250],
  [`${NODE}/nodes/TicketWriteBack/TicketWriteBack.node.ts`, 350],
  [`${CLIENT}/README.md`, 60],
  [`${NODE}/README.md`, 60],
  ['src/connectors/power-automate/README.md', 60],
])('%s has at most %i lines', async (path, most) => {
  expect((await readFile(path, 'utf8')).split('\n').length - 1).toBeLessThanOrEqual(most);
});
