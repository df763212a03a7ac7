import { callText } from '../modules/psa/docs/call-texts.ts';
import { PSA_CALL_TYPES } from '../modules/psa/psa-calls.ts';
import { RECIPES } from './recipes.ts';
import {
  firstContent,
  firstExample,
  isSuccess,
  type MessageShapes,
  type Operation,
  responsesOf,
} from './reference/contract.ts';
import { type Field, fieldsOf, rulesOf } from './reference/rules.ts';

// The parts of pages that are components, for the pages as Markdown.

const json = (value: unknown) => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;

const fieldLines = (fields: readonly Pick<Field, 'name' | 'isRequired' | 'schema'>[]): string =>
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
      ...(requestBody ? [json(firstExample(requestBody))] : []),
      responses.join('\n'),
      json(firstExample(created)),
    ].join('\n\n');
  });
  return parts.join('\n\n');
}

export const callsMarkdown = (messages: ReadonlyMap<string, MessageShapes>): string =>
  PSA_CALL_TYPES.map((type) => {
    const { summary, data, value } = callText(type);
    const shapes = messages.get(type);
    const fields = shapes ? [fieldLines(fieldsOf(shapes.data))] : [];
    return [`### ${type}`, summary, ...fields, json({ type, data }), json(value)].join('\n\n');
  }).join('\n\n');

export const toolsMarkdown = RECIPES.map(({ slug, tool, lead }) => `- [${tool}](/docs/recipes/${slug}): ${lead}`).join(
  '\n',
);
