import * as z from 'zod';

// The fields of a shape with their rules in words, for tables of fields.

/** The parts of a schema that the pages show. */
export const shownSchema = z.object({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  title: z.string().optional(),
  description: z.string().optional(),
  const: z.json().optional(),
  enum: z.array(z.json()).optional(),
  format: z.string().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minItems: z.number().optional(),
  maxItems: z.number().optional(),
  required: z.array(z.string()).default([]),
  get properties() {
    return z.record(z.string(), shownSchema).optional();
  },
  get items() {
    return shownSchema.optional();
  },
  get oneOf() {
    return z.array(shownSchema).optional();
  },
  get anyOf() {
    return z.array(shownSchema).optional();
  },
});
export type Schema = z.infer<typeof shownSchema>;

/** The schema of a shape: of what is sent, or of a response. */
export const schemaOf = (shape: z.core.$ZodType, io: 'input' | 'output'): Schema =>
  shownSchema.parse(withoutReferences(z.toJSONSchema(shape, { io })));

/** A copy of a document with every `$ref` replaced by its target. No shape contains itself. */
export function withoutReferences(document: object): unknown {
  const resolve = (node: unknown): unknown =>
    JSON.parse(JSON.stringify(node), (_, value) => (value?.$ref ? resolve(targetOf(document, value.$ref)) : value));
  return resolve(document);
}

/** The target of a reference such as `#/components/schemas/Ping`. */
function targetOf(document: object, reference: string): unknown {
  return reference
    .slice('#/'.length)
    .split('/')
    .reduce<unknown>((node, name) => new Map(Object.entries(node ?? {})).get(name), document);
}

/** The alternatives of a schema; itself if there is only one. */
export const variantsOf = (schema: Schema | undefined): Schema[] =>
  schema === undefined ? [] : (schema.oneOf ?? schema.anyOf ?? [schema]);

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  boolean: 'true or false',
  array: 'list',
};
const FORMATS: Readonly<Record<string, string>> = {
  uuid: 'UUID',
  'date-time': 'time in UTC',
  email: 'email address',
};

/** The rules of a schema in words, such as `whole number, 1 to 1,440`. */
export function rulesOf(whole: Schema): string {
  const { schema, isNullable } = withoutNull(whole);
  const rules = [...valueRules(schema), ...(isNullable ? ['or null'] : [])];
  return rules.filter((rule) => rule !== '').join(', ');
}

function valueRules(schema: Schema): string[] {
  const { type = '', format = '', const: constant, enum: values, items } = schema;
  if (constant !== undefined) return [`always ${code(constant)}`];
  if (values) return [`one of ${values.map(code).join(', ')}`];
  if (items && !isObject(items)) return [`list of: ${rulesOf(items)}`];
  return [
    FORMATS[format] ?? TYPES[String(type)] ?? String(type),
    range(schema.minimum, schema.maximum, ''),
    range(schema.minLength, schema.maxLength, ' characters'),
    range(schema.minItems, schema.maxItems, ' items'),
  ];
}

const code = (value: unknown) => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
const number = (value: number) => value.toLocaleString('en');

function range(min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER, unit: string): string {
  const hasMin = min > Number.MIN_SAFE_INTEGER;
  if (max < Number.MAX_SAFE_INTEGER) return `${hasMin ? `${number(min)} to` : 'at most'} ${number(max)}${unit}`;
  return hasMin ? `at least ${number(min)}${unit}` : '';
}

/** A field of an object, with the path to it, such as `entry.id`. */
export interface Field {
  name: string;
  isRequired: boolean;
  schema: Schema;
  /** The kinds of object of which a list can contain several. */
  kinds: readonly { title: string; description: string; fields: readonly Field[] }[];
}

/** The fields of an object and of the objects in it. A nullable object is listed as one field. */
export function fieldsOf(whole: Schema, prefix = ''): Field[] {
  const { schema } = withoutNull(whole);
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const { schema: value, isNullable } = withoutNull(field);
    const list = value.items && isObject(value.items) ? value.items : undefined;
    const path = `${prefix}${name}${list ? '[]' : ''}`;
    const variants = variantsOf(list);
    const kinds = variants.length > 1 ? variants.map(kindOf) : [];
    const inner = kinds.length > 0 ? [] : fieldsOf(list ?? value, `${path}.`);
    const itself = { name: path, isRequired: schema.required.includes(name), schema: field, kinds };
    return value.type === 'object' && !isNullable ? inner : [itself, ...inner];
  });
}

function kindOf(schema: Schema) {
  const [[name, first] = ['', undefined]] = Object.entries(schema.properties ?? {});
  const title = schema.title ?? (first ? `${name}: ${rulesOf(first)}` : '');
  return { title, description: schema.description ?? '', fields: fieldsOf(schema) };
}

const isObject = (schema: Schema) => variantsOf(schema).some(({ properties }) => properties !== undefined);

function withoutNull(schema: Schema): { schema: Schema; isNullable: boolean } {
  const { type, anyOf } = schema;
  if (Array.isArray(type) && type.includes('null'))
    return { schema: { ...schema, type: type.find((one) => one !== 'null') }, isNullable: true };
  const [variant, ...others] = anyOf?.filter((one) => one.type !== 'null') ?? [];
  const isNullable = anyOf?.some((one) => one.type === 'null') ?? false;
  if (!isNullable || !variant || others.length > 0) return { schema, isNullable };
  return { schema: { ...variant, description: schema.description ?? variant.description }, isNullable };
}
