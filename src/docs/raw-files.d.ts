// The text of a file, as esbuild and Vite import it.
declare module '*?raw' {
  const text: string;
  export default text;
}
