import type * as z from 'zod';
import { fieldErrors } from '../domain/fields.ts';
import { Invalid } from '../domain/errors.ts';

/**
 * What a shape makes of an input.
 * @throws Invalid naming the fields
 */
export function validated<Schema extends z.ZodType>(shape: Schema, input: unknown): z.output<Schema> {
  const result = shape.safeParse(input);
  if (!result.success) throw new Invalid(fieldErrors(result.error));
  return result.data;
}
