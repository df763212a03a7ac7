import { Validator } from '@cfworker/json-schema';
import * as z from 'zod';

const json = z.json();
export type Json = z.infer<typeof json>;

const schema = z.record(z.string(), json);
const content = z.record(
  z.string(),
  z.object({ schema, examples: z.record(z.string(), z.object({ value: schema })).default({}) }),
);
const operation = z.object({
  requestBody: z.object({ content }).optional(),
  responses: z.record(
    z.string(),
    z.object({ headers: z.record(z.string(), z.object({ required: z.boolean().default(false), schema })), content }),
  ),
});
const webhook = z.object({ post: z.object({ requestBody: z.object({ content }) }) });
const openapi = z.object({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  webhooks: z.record(z.string(), webhook).default({}),
  components: z.object({ schemas: schema }),
});
const problem = z.object({ code: z.string() });

/** Headers of all responses, which the document does not describe. */
const ORDINARY = ['cache-control', 'content-type', 'strict-transport-security', 'x-content-type-options'];

/**
 * A published OpenAPI document with which responses can be compared. Operations have names such as
 * `POST /tickets/{ticketId}/notes`.
 */
export function readContract(text: string) {
  const raw = json.parse(JSON.parse(text));
  const { paths, webhooks, components } = openapi.parse(dereference(raw, raw, (reference) => !isSchema(reference)));
  const operations = Object.fromEntries(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation]),
    ),
  );
  const closedComponents = { schemas: closed(components.schemas) };
  // A validator is made once for each schema, because that takes much longer than a validation.
  const validators = new Map<Json, Validator>();
  const validatorOf = (schema: Json) => {
    const validator =
      validators.get(schema) ??
      new Validator({ ...closed(objectOf(schema)), components: closedComponents }, '2020-12', false);
    validators.set(schema, validator);
    return validator;
  };
  const errorsOf = (schema: Json, value: Json) =>
    validatorOf(schema)
      .validate(value)
      .errors.map(({ instanceLocation, error }) => `${instanceLocation} ${error}`);

  const seen = new Set<string>();

  /** The differences between a response to an operation and the document. */
  async function undocumented(name: string, response: Response): Promise<string[]> {
    const { status, headers } = response;
    const type = headers.get('Content-Type') ?? '';
    const documented = operations[name]?.responses[status];
    const media = documented?.content[type];
    if (!media) return [`${name} ${status} ${type} is not documented`];
    seen.add(`${name} ${status}`);

    const differences: string[] = [];
    for (const [header, { required, schema }] of Object.entries(documented.headers)) {
      const value = headers.get(header);
      if (value === null && required) differences.push(`lacks ${header}`);
      if (value === null) continue;
      seen.add(`${name} ${header}`);
      differences.push(...errorsOf(schema, value).map((error) => `${header} ${error}`));
    }
    const known = [...ORDINARY, ...Object.keys(documented.headers).map((header) => header.toLowerCase())];
    differences.push(
      ...[...headers.keys()].filter((header) => !known.includes(header)).map((header) => `has ${header}`),
    );

    const body = json.parse(await response.clone().json());
    differences.push(...errorsOf(media.schema, body));
    const { data } = problem.safeParse(body);
    if (data) seen.add(`${name} ${status} ${data.code}`);
    return differences.map((difference) => `${name} ${status} ${difference}`);
  }

  /** The documented statuses, problem codes and headers that no response had so far. */
  function unseen(): string[] {
    const documented = Object.entries(operations).flatMap(([name, { responses }]) =>
      Object.entries(responses).flatMap(([status, { headers, content }]) => [
        `${name} ${status}`,
        ...Object.keys(headers).map((header) => `${name} ${header}`),
        ...examplesOf(content).map(({ code }) => `${name} ${status} ${code}`),
      ]),
    );
    return [...new Set(documented)].filter((one) => !seen.has(one));
  }

  /** The differences between a body and the document: of a request, or of a response with this status. */
  function differencesOf(name: string, part: 'request' | number, body: Json): string[] {
    const operation = operations[name];
    const whole = part === 'request' ? operation?.requestBody : operation?.responses[part];
    const media = whole?.content['application/json'];
    if (!media) throw new Error(`${name} has no JSON of ${part}`);
    return errorsOf(media.schema, body);
  }

  /** Whether the document allows a body for an operation. */
  const allows = (name: string, body: Json): boolean => differencesOf(name, 'request', body).length === 0;

  /** The differences between a message that the service sends and the document. */
  function undocumentedMessage(type: string, body: Json): string[] {
    const schema = webhooks[type]?.post.requestBody.content['application/json']?.schema;
    return schema ? errorsOf(schema, body) : [`${type} is not documented`];
  }

  return {
    operations: Object.keys(operations),
    webhooks: Object.keys(webhooks),
    undocumented,
    undocumentedMessage,
    unseen,
    differencesOf,
    allows,
  };
}

/** The examples of problems that have a code. */
function examplesOf(media: z.infer<typeof content>) {
  return Object.values(media['application/problem+json']?.examples ?? {})
    .map(({ value }) => problem.safeParse(value).data)
    .filter((example) => example !== undefined);
}

function objectOf(node: Json | undefined): Record<string, Json> {
  return schema.parse(node);
}

/** The validator follows the references to schemas. */
const isSchema = (reference: string) => reference.startsWith('#/components/schemas/');

/** The document with these of its references replaced. */
export function dereference(node: Json, root: Json, which: (reference: string) => boolean = () => true): Json {
  if (Array.isArray(node)) return node.map((item) => dereference(item, root, which));
  if (typeof node !== 'object' || node === null) return node;
  const reference = node['$ref'];
  if (typeof reference !== 'string' || !which(reference)) {
    return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, dereference(value, root, which)]));
  }
  let target: Json = root;
  for (const name of reference.slice(2).split('/')) target = objectOf(target)[name] ?? null;
  return dereference(target, root, which);
}

/**
 * The schema with all its objects closed to other properties. Clients must ignore new fields, but
 * here a field that is not documented is an error.
 */
function closed(node: Record<string, Json>): Record<string, Json> {
  const close = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(close);
    return typeof value === 'object' && value !== null ? closed(value) : value;
  };
  const entries = Object.fromEntries(Object.entries(node).map(([name, value]) => [name, close(value)]));
  return entries['type'] === 'object' && entries['properties'] && !('additionalProperties' in entries)
    ? { ...entries, additionalProperties: false }
    : entries;
}
