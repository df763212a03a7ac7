// The text of a file, as esbuild and Vite import it.
declare module '*?raw' {
  const text: string;
  export default text;
}

/** Written by src/dev/static-files.ts: the page of each adapter, by its folder. */
declare module '*/build/adapter-pages.json' {
  const markdown: Record<string, string>;
  export default markdown;
}
