import { directoryJsonSchema } from '../../domain/directory.ts';
import { operatorCommand } from '../command.ts';
import { print } from '../output.ts';

export const directorySchema = operatorCommand({
  name: 'directory:schema',
  summary: 'print the JSON Schema of a line of a directory file',
  purpose: 'Prints the JSON Schema of a line of a directory file, made from the shapes that directory:import checks.',
  usage: '',
  example: 'directory:schema',
  failure: 'failure',
}).action(run);

async function run(): Promise<void> {
  await print(`${JSON.stringify(directoryJsonSchema(), null, 2)}\n`);
}
