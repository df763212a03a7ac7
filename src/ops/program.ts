import { Command, CommanderError } from '@commander-js/extra-typings';
import { explain } from './command.ts';
import { adapterDoctor, adapterForget, adapterResume, adapterStatus } from './commands/adapter.ts';
import { changesExport } from './commands/changes-export.ts';
import { changesRepeat } from './commands/changes-repeat.ts';
import { directoryImport } from './commands/directory-import.ts';
import { doctor } from './commands/doctor.ts';
import { keyRevoke } from './commands/key-revoke.ts';
import { organizationErase } from './commands/organization-erase.ts';
import { recordRedact } from './commands/record-redact.ts';
import { size } from './commands/size.ts';
import { switchCommand } from './commands/switch.ts';
import { timeToSettings } from './commands/time-to-settings.ts';
import { UsageError } from './failures.ts';
import { refuseKeysInArguments } from './input.ts';
import { OPS_MODULES } from './modules.ts';
import { databaseOf } from './open-database.ts';
import { OutputClosed } from './output.ts';
import { printable } from './printable.ts';

const COMMANDS = [
  doctor,
  switchCommand,
  size(databaseOf),
  directoryImport(databaseOf),
  changesExport(databaseOf),
  changesRepeat(databaseOf),
  recordRedact(databaseOf),
  timeToSettings(databaseOf),
  keyRevoke(databaseOf),
  organizationErase(databaseOf),
  adapterStatus(databaseOf),
  adapterForget(databaseOf),
  adapterResume,
  adapterDoctor(databaseOf),
  ...OPS_MODULES.flatMap(({ databaseCommands = [] }) => databaseCommands).map((command) => command(databaseOf)),
  ...OPS_MODULES.flatMap(({ commands = [] }) => commands),
];

/** The program with all its commands, in the order of the help. */
export const program = new Command('npm run ops --')
  .description('The commands of the operator. The manual is src/ops/README.md.')
  .helpOption('-h, --help', 'Show help for the program, or for the command before it.')
  .helpCommand(false)
  .configureHelp({ subcommandTerm: (command) => command.name() })
  .exitOverride()
  .configureOutput({ outputError: () => {} });
for (const command of COMMANDS) program.addCommand(command.copyInheritedSettings(program));

/** Runs a command. A failure is one message on standard error and exit code 1, or 2 for a wrong call. */
export async function runProgram(args: readonly string[]): Promise<void> {
  try {
    refuseKeysInArguments(args);
    if (args.length === 0) throw new UsageError('Name a command.');
    await program.parseAsync(args, { from: 'user' });
  } catch (err) {
    if (err instanceof OutputClosed || (err instanceof CommanderError && err.exitCode === 0)) return;
    const isMisuse = err instanceof UsageError || err instanceof CommanderError;
    const message = isMisuse ? `${err.message}\n\n${usageFor(args[0])}` : explain(err);
    console.error(message.split('\n').map(printable).join('\n'));
    process.exitCode = isMisuse ? 2 : 1;
  }
}

function usageFor(name: string | undefined): string {
  const command = program.commands.find((one) => one.name() === name);
  if (!command) return program.helpInformation().trimEnd();
  return `Usage: ${command.createHelp().commandUsage(command)}\n       npm run ops -- ${name} --help`;
}
