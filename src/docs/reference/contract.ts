import * as z from 'zod';

// The parts of an OpenAPI 3.1 document that the reference shows.

const value = z.json();

const schema = z.object({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  title: z.string().optional(),
  description: z.string().optional(),
  example: value.optional(),
  const: value.optional(),
  enum: z.array(value).optional(),
  format: z.string().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minItems: z.number().optional(),
  maxItems: z.number().optional(),
  required: z.array(z.string()).default([]),
  get properties() {
    return z.record(z.string(), schema).optional();
  },
  get items() {
    return schema.optional();
  },
  get oneOf() {
    return z.array(schema).optional();
  },
  get anyOf() {
    return z.array(schema).optional();
  },
});
export type Schema = z.infer<typeof schema>;

const content = z.record(
  z.string(),
  z
    .object({
      schema,
      example: value.optional(),
      examples: z.record(z.string(), z.object({ summary: z.string().optional(), value })).optional(),
    })
    .transform(({ schema, example, examples = {} }) => ({
      schema,
      examples: example === undefined ? examples : { example: { value: example } },
    })),
);

const header = z.object({ description: z.string().default(''), schema });
export type Header = z.infer<typeof header>;

const response = z.object({
  description: z.string(),
  headers: z.record(z.string(), header).default({}),
  content: content.default({}),
});
export type Response = z.infer<typeof response>;

const parameter = z.object({
  name: z.string(),
  in: z.enum(['path', 'header', 'query']),
  required: z.boolean().default(false),
  schema,
});

const operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  description: z.string(),
  parameters: z.array(parameter).default([]),
  requestBody: z.object({ content }).optional(),
  responses: z.record(z.string(), response),
});

const document = z.object({
  servers: z.tuple([z.object({ url: z.string() })]),
  paths: z.record(z.string(), z.partialRecord(z.enum(['get', 'post']), operation)),
});

export type Operation = z.infer<typeof operation> & { method: string; path: string };

export function operationsOf(openapi: object): Operation[] {
  const { servers, paths } = document.parse(resolveReferences(openapi));
  const base = new URL(servers[0].url).pathname.replace(/\/$/, '');
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path: base + path,
    })),
  );
}

/** The schema of a shape: of what is sent, or of a response. */
export const schemaOf = (shape: z.ZodType, io: 'input' | 'output'): Schema =>
  schema.parse(resolveReferences(z.toJSONSchema(shape, { io })));

/** The content of a request or a response in its first media type. */
export const firstContent = (part: Pick<Response, 'content'> | undefined) => Object.values(part?.content ?? {})[0];

/** The responses by status; a new record comes before its replay. */
export const responsesOf = ({ responses: { 201: created, ...others } }: Operation) => [
  ...(created ? [['201', created] as const] : []),
  ...Object.entries(others),
];

export const isSuccess = (status: string) => status.startsWith('2');

/** The alternatives of a schema; itself if there is only one. */
export const variantsOf = (schema: Schema | undefined): Schema[] =>
  schema === undefined ? [] : (schema.oneOf ?? schema.anyOf ?? [schema]);

/** Copies a document with every `$ref` replaced by its target. No shape contains itself. */
function resolveReferences(openapi: object): unknown {
  const resolve = (node: unknown): unknown =>
    JSON.parse(JSON.stringify(node), (_, value) => (value?.$ref ? resolve(find(openapi, value.$ref)) : value));
  return resolve(openapi);
}

/** The target of a reference such as `#/components/schemas/Ping`. */
function find(openapi: object, reference: string): unknown {
  return reference
    .slice('#/'.length)
    .split('/')
    .reduce<unknown>((node, name) => new Map(Object.entries(node ?? {})).get(name), openapi);
}
