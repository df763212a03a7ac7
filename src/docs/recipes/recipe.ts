/**
 * How to call the API from one tool. Texts have `code` between backticks, **names** of controls
 * between asterisks, and [links](/path).
 */
export interface Recipe {
  slug: string;
  tool: string;
  /** Where the reader starts and ends, and the versions of the tool. */
  lead: string;
  /** What the reader needs before the first step. */
  needs: readonly string[];
  /** The steps, for a deployment at this origin. */
  steps: (origin: string) => readonly Step[];
  /** What can go wrong with this tool, before what can go wrong with every tool. */
  failures: readonly Failure[];
  /** Which failed requests the tool sends again, and how often. */
  retries: string;
  /** What was run, what was not, and where the rest comes from. */
  checked: readonly string[];
}

/** One action of the reader. */
export interface Step {
  title: string;
  text?: readonly string[];
  /** What to enter: the name of the field as the tool shows it, and the value. */
  fields?: readonly (readonly [name: string, value: string])[];
  code?: Snippet | Commands;
  download?: { file: string; label: string };
  /** What the reader sees if it worked, or what to know about it, after the rest. */
  after?: readonly string[];
}

/** Something to copy. */
export interface Snippet {
  label: string;
  text: string;
}

/** A command for a terminal, always in both shells: many callers work on Windows. */
export interface Commands {
  label: string;
  bash: string;
  powershell: string;
}

export type Failure = readonly [see: string, remedy: string];
