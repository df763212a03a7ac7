import { type Field, fieldsOf, rulesOf } from './field-rules.ts';

// Tables of fields as Markdown.

/** A block of JSON to copy; `label` is unique on the page. */
export const jsonBlock = (label: string, value: unknown) =>
  `\`\`\`json ${label}\n${JSON.stringify(value, null, 2)}\n\`\`\``;

/** Blocks that the reader unfolds. */
export const fold = (title: string, ...blocks: readonly string[]) =>
  [`<!-- fold: ${title} -->`, ...blocks, '<!-- end -->'].join('\n\n');

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** A table of fields. In a response, a field that is not required is present only sometimes. */
export function fieldTable(fields: readonly Field[], isResponse = false): string {
  const presence = isResponse ? ['', 'not always present'] : ['required', 'optional'];
  const rows = fields.map(({ name, isRequired, schema }) => {
    const rules = [rulesOf(schema), presence[isRequired ? 0 : 1]].filter((rule) => rule !== '').join(', ');
    return [`\`${name}\``, `${rules.charAt(0).toUpperCase()}${rules.slice(1)}. ${schema.description ?? ''}`.trim()];
  });
  return table(['Field', 'Meaning'], rows);
}

/** The fields of each kind of object of which a list can contain several. */
export const kindFolds = (fields: readonly Field[], isResponse = false): string[] =>
  fields.flatMap(({ name, kinds }) =>
    kinds.flatMap(({ title, description, fields: inner }) => [
      fold(`\`${name}\`: ${title}`, ...(description === '' ? [] : [description]), fieldTable(inner, isResponse)),
      ...kindFolds(inner, isResponse),
    ]),
  );

export const resultFolds = (title: string, schema: Parameters<typeof fieldsOf>[0]): string[] => {
  const fields = fieldsOf(schema);
  return [fold(title, fieldTable(fields, true)), ...kindFolds(fields, true)];
};
