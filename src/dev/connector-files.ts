// The files of src/connectors that are generated from the OpenAPI document. test/repository/connectors.test.ts compares
// them, so that no connector misses a change of the contract.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as z from 'zod';
import { describeApi } from '../docs/api-openapi.ts';

/** In test/clients, with the TypeScript that it needs. */
const OPENAPI_TYPESCRIPT = join(import.meta.dirname, '../../test/clients/node_modules/openapi-typescript/bin/cli.js');

const schema = z.looseObject({
  properties: z.record(z.string(), z.looseObject({ const: z.unknown().optional() })).optional(),
});
const contract = z.looseObject({
  servers: z.tuple([z.object({ url: z.string() })]),
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ operationId: z.string() }))),
  components: z.looseObject({ schemas: z.record(z.string(), schema) }),
});
export type Contract = z.output<typeof contract>;

/** The contract without the values of a deployment. */
export function contractOfConnectors(): Contract {
  const limit = { quota: 1, windowMs: 1_000 };
  const limits = { ipLimit: limit, keyLimit: limit, dayLimits: { key: null, organization: null } };
  return contract.parse(JSON.parse(JSON.stringify(describeApi({ keyPrefix: 'twb', ...limits }, ''))));
}

/** The contents of all generated files, by their paths in the repository. */
export async function connectorFiles(document: Contract): Promise<Map<string, string>> {
  return new Map([['src/connectors/client-typescript/src/contract.ts', await clientTypes(document)]]);
}

/** The types of requests and results, and of all errors as one, with the paths of the operations. */
async function clientTypes(document: Contract): Promise<string> {
  const { schemas } = document.components;
  const reduced = {
    openapi: '3.1.0',
    info: { title: 'Ticket Write-Back', version: '1' },
    paths: {},
    components: {
      schemas: {
        ...Object.fromEntries(Object.entries(schemas).filter(([name]) => !name.endsWith('Problem'))),
        Problem: problemOf(schemas),
      },
    },
  };
  const paths = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.values(operations).map(({ operationId }) => `  ${operationId}: '${document.servers[0].url}${path}',`),
  );
  const length = z.number().parse(schemas['NoteRequest']?.properties?.['message']?.['maxLength']);
  return `// Generated from the OpenAPI document by npm run connectors.
${await typesOf(reduced)}
/** The path of each operation. */
export const PATHS = {
${paths.join('\n')}
} as const;
/** The longest text of a note or a description, in Unicode code points. */
export const MAX_TEXT_LENGTH = ${length};
`;
}

/** One schema for the body of every error: the fields of all of them. Only the 401 has no \`code\`. */
function problemOf(schemas: Contract['components']['schemas']) {
  const problems = Object.entries(schemas).filter(([name]) => name.endsWith('Problem'));
  const fields = problems.flatMap(([, { properties = {} }]) => Object.entries(properties));
  const codes = fields.flatMap(([name, field]) => (name === 'code' ? [field.const] : []));
  const properties = {
    ...Object.fromEntries(fields.map(([name, { const: _, ...field }]) => [name, field])),
    code: { type: 'string', enum: codes },
    'violated-policies': { type: 'array', items: { type: 'string' }, description: 'The limits that were exceeded.' },
  };
  return { type: 'object', properties, required: ['type', 'title', 'status'] };
}

/** The types of a document's components, by openapi-typescript. */
async function typesOf(document: object): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'twb-connectors-'));
  try {
    await writeFile(join(directory, 'openapi.json'), JSON.stringify(document));
    const args = [OPENAPI_TYPESCRIPT, 'openapi.json', '-o', 'types.ts'];
    await promisify(execFile)(process.execPath, args, { cwd: directory });
    const types = await readFile(join(directory, 'types.ts'), 'utf8');
    const components = /^export interface components \{\n[\s\S]*?^\}$/m.exec(types)?.[0];
    if (components === undefined) throw new Error('openapi-typescript wrote no components');
    return components;
  } finally {
    await rm(directory, { recursive: true });
  }
}
