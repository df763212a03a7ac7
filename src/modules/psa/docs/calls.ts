import type { Includes } from '../../../docs/blocks.ts';
import { fieldsOf, schemaOf } from '../../../docs/field-rules.ts';
import { fieldTable, kindFolds, resultFolds } from '../../../docs/field-tables.ts';
import { PSA_CALL_TYPES } from '../psa-calls.ts';
import { dataOf, VALUES } from './message-shapes.ts';

/** The fields of each call and of its value, as the pages include them. */
export const CALL_FIELDS: Includes = Object.fromEntries(
  PSA_CALL_TYPES.flatMap((type) => {
    const fields = fieldsOf(schemaOf(dataOf(type), 'input'));
    return [
      [`fields of ${type}`, [fieldTable(fields), ...kindFolds(fields)].join('\n\n')],
      [`value of ${type}`, resultFolds('Fields of `value`', schemaOf(VALUES[type], 'output')).join('\n\n')],
    ];
  }),
);
