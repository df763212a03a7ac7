import { type DeploymentLimits, limitsInWords } from '../../domain/day-limit.ts';
import { partsOf, withIncludes } from '../blocks.ts';
import { ERROR_TEXTS } from '../errors.ts';
import { fieldTable, fold, jsonBlock, resultFolds, table } from '../generated-markdown.ts';
import page from '../pages/reference.md?raw';
import {
  firstContent,
  type Header,
  isSuccess,
  type Operation,
  type Response,
  responsesOf,
  variantsOf,
} from './contract.ts';
import texts from './examples.md?raw';
import { type Field, fieldsOf } from './rules.ts';

/** The same request in several languages, by operation. */
const REQUESTS = partsOf(texts);

const RESPONSE_HEAD = ['Response', 'Meaning'];

/** The reference as Markdown, from the OpenAPI document. */
export function referencePage(operations: readonly Operation[], limits: DeploymentLimits): string {
  const responses = operations.flatMap((operation) => Object.values(operation.responses));
  const contents = operations.map(({ operationId, summary, method, path }) => [
    `[${summary}](#${operationId})`,
    `${method} \`${path}\``,
  ]);
  const [first = [], ...others] = operations.map((operation) => responseRows(operation).map(String));
  const shared = first.filter((row) => others.every((rows) => rows.includes(row)));
  const isShared = (row: readonly string[]) => shared.includes(String(row));
  return withIncludes(page, {
    limits: limitsInWords(limits),
    operations: [
      table(['Operation', 'Request'], contents),
      ...operations.map((one) => operationMarkdown(one, isShared)),
    ].join('\n\n'),
    responses: table(RESPONSE_HEAD, operations.slice(0, 1).flatMap(responseRows).filter(isShared)),
    problem: fieldTable(problemFields(responses), true),
    headers: table(['Header', 'Meaning', 'Example'], headerRows(responses)),
  });
}

function operationMarkdown(operation: Operation, isShared: (row: readonly string[]) => boolean): string {
  const { operationId, summary, description, method, path, parameters, requestBody } = operation;
  const request = REQUESTS[operationId];
  if (request === undefined) throw new Error(`examples.md lacks the request of ${operationId}`);
  const body = firstContent(requestBody);
  const fields = [
    ...parameters.map((one) => ({ ...one, isRequired: one.required, place: one.in, kinds: [] })),
    ...(body ? fieldsOf(body.schema).map((field) => ({ ...field, place: 'body' })) : []),
  ];
  const successes = responsesOf(operation).filter(([status]) => isSuccess(status));
  const examples = successes.map(([status, response]) => {
    const [example] = Object.values(firstContent(response)?.examples ?? {});
    return { status, block: jsonBlock(`Response ${status}: ${summary}`, example?.value) };
  });
  const result = firstContent(successes[0]?.[1]);
  return [
    `## ${summary} {#${operationId}}`,
    `**${method}** \`${path}\``,
    description,
    ...(operationId === 'ping' ? ['<!-- insert: ping -->'] : []),
    ...(fields.length > 0 ? [fieldTable(fields)] : []),
    request.replaceAll(/^(```\w+ Request)$/gm, `$1: ${summary}`),
    ...Object.values(body?.examples ?? {})
      .slice(1)
      .map((other) => fold(other.summary ?? '', jsonBlock(`${other.summary}: ${summary}`, other.value))),
    ...(examples.length === 1
      ? examples.map(({ block }) => block)
      : [...examples.flatMap(({ status, block }) => [`<!-- tab: Response ${status} -->`, block]), '<!-- end -->']),
    ...(result ? resultFolds('Fields of a success', result.schema) : []),
    table(
      RESPONSE_HEAD,
      responseRows(operation).filter((row) => !isShared(row)),
    ),
  ].join('\n\n');
}

/** All responses of an operation, with the headers that its first success does not have. */
function responseRows(operation: Operation): string[][] {
  const responses = responsesOf(operation);
  const usual = responses.find(([status]) => isSuccess(status))?.[1].headers ?? {};
  return responses.flatMap(([status, response]) => {
    const names = Object.keys(response.headers).filter((name) => !(name in usual));
    const links = names.map((name) => `[${name}](#${name.toLowerCase()})`).join(', ');
    const headers = names.length === 0 ? '' : ` Header: ${links}.`;
    if (isSuccess(status)) return [[status, response.description + headers]];
    return Object.keys(firstContent(response)?.examples ?? {}).map((code) => {
      const text = ERROR_TEXTS.get(code);
      const name = text ? `\`${code}\`` : 'Unauthorized';
      return [`${status} [${name}](/docs/errors#${code})`, (text?.meaning ?? response.description) + headers];
    });
  });
}

/** The fields of all problems with a code, without the values that differ between them. */
function problemFields(responses: readonly Response[]): Field[] {
  const shapes = responses
    .flatMap(({ content }) => variantsOf(content['application/problem+json']?.schema))
    .filter(({ required }) => required.includes('code'));
  const byName = new Map(shapes.flatMap((shape) => fieldsOf(shape)).map((field) => [field.name, field]));
  return Array.from(byName.values(), ({ name, isRequired, kinds, schema: { type, format, description } }) => ({
    name,
    isRequired: isRequired && (name.includes('.') || shapes.every(({ required }) => required.includes(name))),
    schema: { type, format, description, required: [] },
    kinds,
  }));
}

/** Each header once, with its longest description. */
function headerRows(responses: readonly Response[]): string[][] {
  const headers = new Map<string, Header>();
  for (const [name, header] of responses.flatMap((response) => Object.entries(response.headers))) {
    if (header.description.length > (headers.get(name)?.description.length ?? -1)) headers.set(name, header);
  }
  return Array.from(headers, ([name, { description, schema }]) => [
    `\`${name}\``,
    description,
    schema.example === undefined ? '' : `\`${String(schema.example)}\``,
  ]);
}
