import { sql } from 'drizzle-orm';
import { MAX_TEXT_LENGTH } from '../../domain/fields.ts';

// The conditions that checks of several tables share. SQLite cannot add a check to a table, or change one, so lists that grow
// are checked by a pattern.

export const flags = (...columns: string[]) => sql.raw(columns.map((column) => `${column} in (0, 1)`).join(' and '));

/** A fixed list. For three or more values, "in (...)" builds a temporary index, which costs one row read for each write. */
export const oneOf = (column: string, values: readonly string[]) =>
  sql.raw(values.map((value) => `${column} = '${value}'`).join(' or '));

/** An id of the PSA. */
export const identifier = (column: string) =>
  sql.raw(
    `length(${column}) between 1 and 64 and ${column} not glob '*[^A-Za-z0-9._~-]*' and ${column} not in ('.', '..')`,
  );

/** Lower-case words separated by single spaces. */
export const words = (column: string) =>
  sql.raw(
    `length(${column}) > 0 and ${column} not glob '*[^a-z0-9:_ -]*' and ${column} = trim(${column}) and instr(${column}, '  ') = 0`,
  );

/** The characters that `String.prototype.trim` removes. */
const WHITE_SPACE = [
  9, 10, 11, 12, 13, 32, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8232, 8233, 8239,
  8287, 12288, 65279,
];

export const freeText = (column: string) =>
  sql.raw(`length(trim(${column}, char(${WHITE_SPACE.join(',')}))) between 1 and ${MAX_TEXT_LENGTH}`);
