import { fieldsOf, schemaOf } from '../../../docs/field-rules.ts';
import { fieldTable, jsonBlock, kindFolds, resultFolds } from '../../../docs/field-tables.ts';
import { PSA_CALL_TYPES } from '../psa-calls.ts';
import { callText } from './call-texts.ts';
import { dataOf, VALUES } from './message-shapes.ts';

/** Each call with its fields, an example, and its result. */
export const callsMarkdown = PSA_CALL_TYPES.map((type) => {
  const { summary, data, value } = callText(type);
  const fields = fieldsOf(schemaOf(dataOf(type), 'input'));
  return [
    `### ${type} {#${type}}`,
    summary,
    fieldTable(fields),
    ...kindFolds(fields),
    jsonBlock(`Message ${type}`, { type, data }),
    jsonBlock(`Value of ${type}`, value),
    ...resultFolds('Fields of `value`', schemaOf(VALUES[type], 'output')),
  ].join('\n\n');
}).join('\n\n');
