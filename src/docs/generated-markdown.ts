import { RECIPES } from './recipes.ts';
import { firstContent, firstExample, isSuccess, type Operation, responsesOf } from './reference/contract.ts';
import { type Field, fieldsOf, rulesOf } from './reference/rules.ts';

// The parts of pages that are components, for the pages as Markdown.

export const jsonBlock = (value: unknown) => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;

export const fieldLines = (fields: readonly Pick<Field, 'name' | 'isRequired' | 'schema'>[]): string =>
  fields
    .map(({ name, isRequired, schema }) => {
      const rules = [rulesOf(schema), ...(isRequired ? ['required'] : [])].filter((rule) => rule !== '').join(', ');
      return `- \`${name}\` (${rules})${schema.description ? `: ${schema.description}` : ''}`;
    })
    .join('\n');

export function operationsMarkdown(operations: readonly Operation[]): string {
  const parts = operations.map((operation) => {
    const { summary, description, method, path, parameters, requestBody } = operation;
    const body = firstContent(requestBody)?.schema;
    const fields = [
      ...parameters.map((one) => ({ ...one, isRequired: one.required })),
      ...(body ? fieldsOf(body) : []),
    ];
    const responses = responsesOf(operation).map(([status, { description }]) => `- ${status}: ${description}`);
    const [, created] = responsesOf(operation).find(([status]) => isSuccess(status)) ?? [];
    return [
      `## ${summary}`,
      `\`${method} ${path}\``,
      description,
      ...(fields.length > 0 ? [fieldLines(fields)] : []),
      ...(requestBody ? [jsonBlock(firstExample(requestBody))] : []),
      responses.join('\n'),
      jsonBlock(firstExample(created)),
    ].join('\n\n');
  });
  return parts.join('\n\n');
}

export const toolsMarkdown = RECIPES.map(({ slug, tool, lead }) => `- [${tool}](/docs/recipes/${slug}): ${lead}`).join(
  '\n',
);
