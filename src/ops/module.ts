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
  /** Such as `--psa`. */
  flag: string;
  description: string;
  /** What to know if the option is not given. */
  unchecked?: string;
  /** Reads the environment before anything is sent. @throws UsageError */
  prepare: () => (origin: string) => AsyncIterable<Finding>;
}
