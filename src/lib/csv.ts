/** Makes Excel read the file as UTF-8. */
export const BYTE_ORDER_MARK = '\uFEFF';

/** Spreadsheets may drop blanks, control characters and invisible characters before a formula. */
const FORMULA = /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]*[=+\-@＝＋－＠]/u;

/** RFC 4180 has the comma. Excel expects a semicolon where the comma separates decimals. */
export type CsvSeparator = ',' | ';';

/** An amount is written with two decimals. */
export type CsvCell = string | number | { amount: number } | null;

/** One line of CSV (RFC 4180). A leading apostrophe keeps a cell from running as a formula (OWASP, CSV injection). */
export function csvLine(cells: readonly CsvCell[], separator: CsvSeparator = ','): string {
  return `${cells.map((cell) => csvCell(cell, separator)).join(separator)}\r\n`;
}

function csvCell(cell: CsvCell, separator: CsvSeparator): string {
  if (cell === null) return '';
  if (typeof cell !== 'string') {
    const number = typeof cell === 'number' ? String(cell) : cell.amount.toFixed(2);
    return separator === ';' ? number.replace('.', ',') : number;
  }
  const text = FORMULA.test(cell) || /^[\t\r\n]/.test(cell) ? `'${cell}` : cell;
  return `"${text.replaceAll('"', '""')}"`;
}
