/** A file's text, as Vite gives it to a test. */
declare module '*?raw' {
  const text: string;
  export default text;
}

interface ImportMeta {
  /** The modules that match a pattern, by their paths: Vite replaces the call. */
  glob<Module>(
    pattern: string,
    options: { eager: true; query?: '?raw'; import?: 'default' },
  ): Readonly<Record<string, Module>>;
  /** Functions that import the modules. */
  glob<Module>(pattern: string): Readonly<Record<string, () => Promise<Module>>>;
}
