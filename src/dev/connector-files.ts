// The files of src/connectors that are generated from the OpenAPI document. test/repository/connectors.test.ts compares
// them, so that no connector misses a change of the contract.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Contract, Schema } from './contract.ts';
import { swaggerOf } from './swagger.ts';

/** In test/clients, with the TypeScript that it needs. */
const OPENAPI_TYPESCRIPT = join(import.meta.dirname, '../../test/clients/node_modules/openapi-typescript/bin/cli.js');

/** The contents of all generated files, by their paths in the repository. */
export async function connectorFiles(document: Contract): Promise<Map<string, string>> {
  return new Map([
    ['src/connectors/client-typescript/src/contract.ts', await clientTypes(document)],
    ['src/connectors/n8n-nodes-ticket-write-back/nodes/TicketWriteBack/contract.ts', n8nFields(document)],
    ['src/connectors/power-automate/apiDefinition.swagger.json', `${JSON.stringify(swaggerOf(document), null, 2)}\n`],
  ]);
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
    Object.values(operations).map(({ operationId }) => `  ${operationId}: '${document.servers[0]}${path}',`),
  );
  const length = schemas['NoteRequest']?.properties?.['message']?.maxLength;
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

/** The names of the node's resources. */
const N8N_RESOURCES: Readonly<Record<string, string>> = { createNote: 'note', createTimeEntry: 'timeEntry' };

/** The path and the fields of each resource of the n8n node, and their form. */
function n8nFields({ servers: [basePath], paths, components }: Contract): string {
  const writes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.values(operations).flatMap(({ operationId, requestBody }) => {
      const name = requestBody?.content['application/json'].schema.$ref.split('/').at(-1) ?? '';
      const { properties, required = [] } = components.schemas[name] ?? {};
      // The node has an option for it.
      if (!properties || operationId.startsWith('dryRun')) return [];
      const resource = N8N_RESOURCES[operationId];
      if (resource === undefined) throw new Error(`The n8n node has no resource for ${operationId}`);
      return [{ resource, path: basePath + path, properties, required }];
    }),
  );
  const resources = Object.fromEntries(
    writes.map(({ resource, path, properties, required }) => [
      resource,
      { path, fields: Object.keys(properties), required },
    ]),
  );
  const fields = writes.flatMap(({ resource, properties, required }) =>
    Object.entries(properties).map(([name, value]) => n8nField(resource, name, value, required.includes(name))),
  );
  const imports = "import type { INodeProperties } from 'n8n-workflow';";
  return `// Generated from the OpenAPI document by npm run connectors.
${imports}

/** The path and the fields of each resource. */
export const RESOURCES = ${JSON.stringify(resources, null, 2)};

/** The form of the fields. */
export const FIELDS: INodeProperties[] = ${JSON.stringify(fields, null, 2)};
`;
}

/** A field of a form. n8n's linter wants titles, IDs in capitals, and no period after a single sentence. */
function n8nField(resource: string, name: string, { type, description = '', ...rules }: Schema, required: boolean) {
  const words = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter}`);
  const isText = type === 'string';
  const isLong = isText && (rules.maxLength ?? 0) > 1000;
  const n8nType = type === 'integer' ? 'number' : type;
  return {
    displayName: words.charAt(0).toUpperCase() + words.slice(1),
    name,
    type: n8nType,
    ...(isLong && { typeOptions: { rows: 4 } }),
    ...(n8nType === 'number' && { typeOptions: { minValue: rules.minimum, maxValue: rules.maximum } }),
    required,
    displayOptions: { show: { resource: [resource], operation: ['create'] } },
    default: isText ? '' : n8nType === 'number' ? rules.minimum : false,
    description: /\. [A-Z]/.test(description) ? description : description.replace(/\.$/, ''),
  };
}
