/** One page of an export, which is read page by page. */
export interface ExportPage<Item> {
  items: readonly Item[];
  /** Where the export goes on after this page; undefined at its end. */
  next: string | undefined;
}
