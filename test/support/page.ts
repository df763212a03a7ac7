/** An element of a page. */
export interface PageElement {
  attributes: Readonly<Record<string, string>>;
  /** Its text with that of the elements in it, as it is in the HTML. */
  text: string;
}

/** The elements of a page that match a CSS selector, in the order of the page. */
export async function elementsOf(page: string, selector: string): Promise<PageElement[]> {
  const found: { attributes: Record<string, string>; text: string }[] = [];
  const rewriter = new HTMLRewriter().on(selector, {
    element({ attributes }) {
      found.push({ attributes: Object.fromEntries(attributes), text: '' });
    },
    text({ text }) {
      const element = found.at(-1);
      if (element) element.text += text;
    },
  });
  await rewriter.transform(new Response(page)).text();
  return found;
}

/** How many elements of a page match a CSS selector. */
export const countElements = async (page: string, selector: string) => (await elementsOf(page, selector)).length;

/** The lines of a CSV file after its headings. */
export const csvRows = (csv: string) => csv.trimEnd().split('\r\n').slice(1);
