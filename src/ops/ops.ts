// npm run ops -- COMMAND: the entry point of the operator's commands.
import { runProgram } from './program.ts';

await runProgram(process.argv.slice(2));
