/** A file's text, as Vite gives it to a test. */
declare module '*?raw' {
  const text: string;
  export default text;
}

interface ImportMeta {
  /** What Vite replaces by the modules that match a pattern, by their paths. */
  glob<Module>(
    pattern: string,
    options: { eager: true; query?: '?raw'; import?: 'default' },
  ): Readonly<Record<string, Module>>;
}
