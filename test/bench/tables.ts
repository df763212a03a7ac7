/** A whole number with a comma every three digits. */
export function integer(value: number): string {
  return Math.round(value).toLocaleString('en');
}

/** A table in Markdown, whose first column is aligned to the left. */
export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map((_, column) => (column === 0 ? '---|' : '--:|')).join('')}`, ...rows.map(line)].join(
    '\n',
  );
}
