import { fieldTable, jsonBlock, kindFolds, resultFolds } from '../../../docs/generated-markdown.ts';
import { firstContent, type Operation, type Schema, variantsOf } from '../../../docs/reference/contract.ts';
import { fieldsOf } from '../../../docs/reference/rules.ts';
import { PSA_CALL_TYPES } from '../psa-calls.ts';
import { callText } from './call-texts.ts';

interface MessageShapes {
  data: Schema;
  value: Schema;
}

/** The shapes of the messages by their type. The document lists the results in the order of the messages. */
function messagesOf({ requestBody, responses }: Operation): Map<string, MessageShapes> {
  const results = variantsOf(firstContent(responses['200'])?.schema.properties?.['value']);
  const messages = variantsOf(firstContent(requestBody)?.schema);
  return new Map(
    messages.flatMap(({ properties: { type, data } = {} }, index) => {
      const value = results[index];
      return type && data && value ? [[String(type.const), { data, value }] as const] : [];
    }),
  );
}

/** Each call with its fields, an example, and its result. */
export function callsMarkdown(operations: readonly Operation[]): string {
  const messages = new Map(operations.flatMap((operation) => [...messagesOf(operation)]));
  return PSA_CALL_TYPES.map((type) => {
    const { summary, data, value } = callText(type);
    const shapes = messages.get(type);
    if (!shapes) throw new Error(`The OpenAPI document lacks the call ${type}`);
    const fields = fieldsOf(shapes.data);
    return [
      `### ${type} {#${type}}`,
      summary,
      fieldTable(fields),
      ...kindFolds(fields),
      jsonBlock(`Message ${type}`, { type, data }),
      jsonBlock(`Value of ${type}`, value),
      ...resultFolds('Fields of `value`', shapes.value),
    ].join('\n\n');
  }).join('\n\n');
}
