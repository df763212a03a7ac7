// npm run ops -- COMMAND: the entry point of the operator's commands.
import { tolerateClosedOutput } from './output.ts';
import { runProgram } from './program.ts';

tolerateClosedOutput();
await runProgram(process.argv.slice(2));
