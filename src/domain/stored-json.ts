import type * as z from 'zod';
import { LoggableError } from '../lib/loggable-error.ts';

/** The stored text differs from the written one: a bug, or another program wrote it. */
export class DamagedData extends LoggableError {
  override name = 'DamagedData';
}

/**
 * Parses JSON from the database or the archive. `what` names it, such as `the note of change 12`.
 * @throws DamagedData naming the fields that are wrong, without their values
 */
export function parseStored<Schema extends z.ZodType>(shape: Schema, json: string, what: string): z.output<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (err) {
    // The message of a SyntaxError repeats a part of the text.
    if (err instanceof SyntaxError) throw new DamagedData(`${what} is damaged: it is not JSON`);
    throw err;
  }
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path, code }) => `/${path.join('/')} (${code})`);
  throw new DamagedData(`${what} is damaged: ${fields.join(', ')}`);
}
