import { readFile } from 'node:fs/promises';
import * as z from 'zod';

/** The OpenAPI document, which `src/dev/static-files.ts` writes. The limits and the address in it are not used. */
const DOCUMENT = 'build/static/api/v1/openapi.json';

/** The parts of a JSON Schema that connectors use. */
const schema = z.looseObject({
  type: z.string().optional(),
  description: z.string().optional(),
  format: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  required: z.array(z.string()).optional(),
  get items() {
    return z.optional(schema);
  },
  get properties() {
    return z.optional(z.record(z.string(), schema));
  },
});
export type Schema = z.output<typeof schema>;
const json = z.object({ 'application/json': z.object({ schema: z.object({ $ref: z.string() }) }) });
const operation = z.looseObject({
  operationId: z.string(),
  summary: z.string(),
  description: z.string(),
  parameters: z.array(z.looseObject({ in: z.string(), name: z.string(), description: z.string() })).optional(),
  requestBody: z.object({ content: json }).optional(),
  responses: z.record(
    z.string(),
    z.looseObject({ description: z.string().optional(), content: json.partial().optional() }),
  ),
});
const contract = z.looseObject({
  /** Without the deployment's address. */
  servers: z.tuple([
    z.object({ url: z.string() }).transform(({ url }) => new URL(url, 'https://tickets.example').pathname),
  ]),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.looseObject({ schemas: z.record(z.string(), schema) }),
});
export type Contract = z.output<typeof contract>;

const nullable = z.looseObject({ anyOf: z.tuple([z.looseObject({}), z.looseObject({ type: z.literal('null') })]) });

/** A schema that also permits null, without it: connectors leave the field out. */
function withoutNull(_: string, value: unknown): unknown {
  const { data } = nullable.safeParse(value);
  if (!data) return value;
  const { anyOf, ...rest } = data;
  return { ...anyOf[0], ...rest };
}

export async function readContract(): Promise<Contract> {
  return contract.parse(JSON.parse(await readFile(DOCUMENT, 'utf8'), withoutNull));
}
