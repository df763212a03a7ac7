// Reads the types that openapi-typescript wrote from a vendor's OpenAPI document, by their indentation, and checks values
// against them. What is only in a comment there (Max length, Format) is checked too.

interface Operation {
  template: string;
  query: string[];
  header: string[];
  body: string | undefined;
  status: number;
  response: string | undefined;
}

const literal = (text: string) => text.replaceAll(/[{}[\]/.]/g, '\\$&');
const blockOf = (source: string, name: string, indent: string) =>
  new RegExp(`^${indent}${literal(name)}\\??: \\{\\n([\\s\\S]*?)^${indent}\\};`, 'm').exec(source)?.[1];
const namesIn = (block = '') => Array.from(block.matchAll(/^ {16}(\w+)\??:/gm), ([, name = '']) => name);

export function vendorTypes(source: string) {
  const [paths = '', rest = ''] = source.replaceAll('\r', '').split('export interface components');
  const [schemas = '', operations = ''] = rest.split('export interface operations');
  const templates = Array.from(paths.matchAll(/^ {4}"(\/[\w/{}-]*)": \{/gm), ([, template = '']) => ({
    template,
    path: new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }));

  const found = new Map<string, Operation | undefined>();
  /** The operation of a request. A fixed segment wins over a parameter. */
  function find(method: string, path: string): Operation | undefined {
    const [template = ''] = templates
      .flatMap((one) => (one.path.test(path) ? [one.template] : []))
      .sort((a, b) => a.split('{').length - b.split('{').length);
    const key = `${method} ${template}`;
    // The document has three million characters.
    if (!found.has(key)) found.set(key, operationOf(method, template));
    return found.get(key);
  }

  function operationOf(method: string, template: string): Operation | undefined {
    const methods = template && blockOf(paths, `"${template}"`, '    ');
    const name = new RegExp(`^ {8}${method.toLowerCase()}: operations\\["(\\w+)"\\]`, 'm').exec(methods || '')?.[1];
    const operation = name && blockOf(operations, name, '    ');
    if (!template || !operation) return undefined;
    const responses = blockOf(operation, 'responses', '        ') ?? '';
    const [, status = '', response] =
      /^ {12}(2\d\d): (?:never|\{[\s\S]*?json; version=[\d.]+": ([^;]+));/m.exec(responses) ?? [];
    return {
      template,
      ...{
        query: namesIn(blockOf(operation, 'query', ' '.repeat(12))),
        header: namesIn(blockOf(operation, 'header', ' '.repeat(12))),
      },
      body: /"application\/json": ([^;]+);/.exec(blockOf(operation, 'requestBody', '        ') ?? '')?.[1],
      ...{ status: Number(status), response },
    };
  }

  const shapes = new Map<string, Map<string, { type: string; isOptional: boolean; comment: string }>>();
  function shapeOf(name: string) {
    const known = shapes.get(name);
    if (known) return known;
    const shape = new Map<string, { type: string; isOptional: boolean; comment: string }>();
    const block = blockOf(schemas, name, ' '.repeat(8)) ?? '';
    for (const [, comment = '', field = '', mark, type = ''] of block.matchAll(
      /(?:^ {12}\/\*\*([\s\S]*?)\*\/\n)?^ {12}(\w+)(\?)?: (\{[\s\S]*?^ {12}\}|[^;]+);/gm,
    ))
      shape.set(field, { type, isOptional: mark === '?', comment });
    shapes.set(name, shape);
    return shape;
  }

  /** What is wrong with a value of a type, each with its place. */
  function check(type: string, value: unknown, at = '', comment = ''): string[] {
    const inner = /^\(([\s\S]*)\)(?= \||$)/.exec(type);
    const parts = (inner ? type.replace(inner[0], inner[1] ?? '') : type).split(' | ');
    const problems = parts.map((part) => checkOne(part, value, at, comment));
    return problems.some((found) => found.length === 0) ? [] : (problems.sort((a, b) => b.length - a.length)[0] ?? []);
  }

  function checkOne(type: string, value: unknown, at: string, comment: string): string[] {
    if (type.endsWith('[]'))
      return Array.isArray(value)
        ? value.flatMap((one, index) => check(type.slice(0, -2), one, `${at}/${index}`))
        : [`${at} is no array`];
    const name = /^components\["schemas"\]\["(\w+)"\]$/.exec(type)?.[1];
    if (name) return checkObject(name, value, at);
    if (type.startsWith('"')) return value === JSON.parse(type) ? [] : [`${at} is not one of the words`];
    if (type.startsWith('{')) return typeof value === 'object' ? [] : [`${at} is no object`];
    if (type === 'null') return value === null ? [] : [`${at} is not null`];
    if (typeof value !== type) return [`${at} is no ${type}`];
    const longest = Number(/Max length: (\d+)/.exec(comment)?.[1] ?? Infinity);
    if (typeof value === 'string' && value.length > longest) return [`${at} is longer than ${longest}`];
    if (/Format: date-time/.test(comment) && !/^\d{4}-\d\d-\d\dT[\d:]{8}Z$/.test(String(value)))
      return [`${at} is no time`];
    if (/Format: int/.test(comment) && !Number.isInteger(value)) return [`${at} is no whole number`];
    return [];
  }

  function checkObject(name: string, value: unknown, at: string): string[] {
    if (typeof value !== 'object' || value === null) return [`${at} is no ${name}`];
    const shape = shapeOf(name);
    if (shape.size === 0) return [`${at}: there is no ${name}`];
    const fields = new Map(Object.entries(value));
    return [
      ...[...shape].flatMap(([field, { isOptional }]) =>
        isOptional || fields.has(field) ? [] : [`${at}/${field} is missing`],
      ),
      ...[...fields].flatMap(([field, one]) => {
        const known = shape.get(field);
        return known ? check(known.type, one, `${at}/${field}`, known.comment) : [`${at}/${field} is unknown`];
      }),
    ];
  }

  return { find, check };
}
