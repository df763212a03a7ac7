import * as z from 'zod';
import { describedRecord, MAX_NAME_LENGTH } from '../../domain/directory.ts';
import { operatorCommand } from '../command.ts';
import { print } from '../output.ts';

export const directorySchema = operatorCommand({
  name: 'directory:schema',
  summary: 'print the JSON Schema of a line of a directory file',
  purpose: 'Prints the JSON Schema of a line of a directory file, made from the shapes that directory:import checks.',
  example: 'directory:schema',
  failure: 'failure',
}).action(run);

async function run(): Promise<void> {
  await print(`${JSON.stringify(directoryJsonSchema(), null, 2)}\n`);
}

/** JSON Schema (draft 2020-12) of a record. Rules that it cannot express are in the descriptions. */
export function directoryJsonSchema(): Record<string, unknown> {
  return {
    title: 'One line of a directory file',
    ...z.toJSONSchema(describedRecord(), {
      io: 'input',
      // `freeText` counts code points itself, as JSON Schema does.
      override: ({ path, jsonSchema }) => {
        if (path.at(-1) === 'name') Object.assign(jsonSchema, { minLength: 1, maxLength: MAX_NAME_LENGTH });
      },
    }),
  };
}
