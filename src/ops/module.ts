import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import type { DatabaseOf } from './command.ts';
import type { Finding } from './probe.ts';

type Parsers = Readonly<Record<string, (text: string) => unknown>>;

export interface OpsModule {
  /** How it parses its variables when the Worker starts. The parsers throw a RangeError. */
  variables?: Parsers;
  secrets?: Parsers;
  commands?: readonly CommandUnknownOpts[];
  databaseCommands?: readonly ((databaseOf: DatabaseOf) => CommandUnknownOpts)[];
  checks?: readonly DoctorCheck[];
}

/** An option of `doctor`, and what it checks. */
interface DoctorCheck {
  /** As commander reads it, such as `--receiver <URL>`. */
  flags: string;
  description: string;
  /** What to know if the option is not given. */
  unchecked?: string;
  /** Reads option and environment before anything is sent. @throws UsageError */
  prepare: (value: string) => (origin: string) => AsyncIterable<Finding>;
}
