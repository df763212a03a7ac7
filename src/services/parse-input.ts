import type * as z from 'zod/mini';
import { invalidInput } from '../domain/errors.ts';
import { fieldErrors } from '../domain/fields.ts';

/** @throws ServiceError `invalid` naming the fields */
export function parseInput<Schema extends z.ZodMiniType>(shape: Schema, input: unknown): z.output<Schema> {
  const result = shape.safeParse(input);
  if (!result.success) throw invalidInput(fieldErrors(result.error));
  return result.data;
}

/** As `parseInput`. */
export function requireInput<Schema extends z.ZodMiniType>(
  shape: Schema,
  input: unknown,
): asserts input is z.input<Schema> {
  parseInput(shape, input);
}
