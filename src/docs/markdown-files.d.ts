// The text of a Markdown file, as esbuild and Vite import it.
declare module '*.md?raw' {
  const markdown: string;
  export default markdown;
}
