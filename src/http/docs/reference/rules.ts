import type { Schema } from './contract.ts';

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  boolean: 'true or false',
  array: 'list',
};
const FORMATS: Readonly<Record<string, string>> = {
  uuid: 'UUID',
  'date-time': 'time in UTC',
  email: 'e-mail address',
};

/** The rules of a schema in words, such as `whole number, 1 to 1,440`. */
export function rulesOf(schema: Schema): string {
  const { type = '', format = '', const: constant, enum: values, items } = schema;
  if (constant !== undefined) return `always ${code(constant)}`;
  if (values) return `one of ${values.map(code).join(', ')}`;
  if (items) return `list of: ${rulesOf(items)}`;
  const rules = [
    FORMATS[format] ?? TYPES[type] ?? type,
    range(schema.minimum, schema.maximum, ''),
    range(schema.minLength, schema.maxLength, ' characters'),
  ];
  return rules.filter((rule) => rule !== '').join(', ');
}

/** The regular expression of a text, and the one that it must not match; none if a format says it. */
export function patternsOf({ format, pattern, not }: Schema): string[] {
  return [format === undefined ? pattern : undefined, not?.pattern].filter((one) => one !== undefined);
}

const code = (value: unknown) => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
const number = (value: number) => value.toLocaleString('en');

function range(min: number | undefined, max: number | undefined, unit: string): string {
  if (max !== undefined)
    return min === undefined ? `at most ${number(max)}${unit}` : `${number(min)} to ${number(max)}${unit}`;
  return min === undefined ? '' : `at least ${number(min)}${unit}`;
}

/** A field of an object, with the path to it, such as `entry.id`. */
export interface Field {
  name: string;
  isRequired: boolean;
  schema: Schema;
}

/** The fields of an object and of the objects in it. */
export function fieldsOf(schema: Schema, prefix = ''): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const list = field.items?.properties && field.items;
    const path = `${prefix}${name}${list ? '[]' : ''}`;
    const inner = fieldsOf(list ?? field, `${path}.`);
    const itself = { name: path, isRequired: schema.required.includes(name), schema: field };
    return field.type === 'object' ? inner : list ? [itself, ...inner] : [itself];
  });
}
