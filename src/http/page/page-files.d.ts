// Made by `npm run build`, `npm start` and `npm test`: see src/dev/static-files.ts.
declare module '*/build/page-files.json' {
  /** The addresses of the stylesheet and the script. */
  const files: { stylesheet: string; script: string };
  export default files;
}
