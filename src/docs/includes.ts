/** Texts by the name at which a page includes them: `<!-- include: name -->`. */
export type Includes = Readonly<Record<string, string>>;

/** @throws Error if the page includes a text that is not there */
export function withIncludes(markdown: string, includes: Includes): string {
  return markdown.replaceAll(/<!-- include: (.+?) -->/g, (_, name: string) => {
    const text = includes[name];
    if (text === undefined) throw new Error(`There is no text to include as ${name}`);
    return text;
  });
}
