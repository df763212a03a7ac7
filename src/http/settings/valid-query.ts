import { validator } from 'hono/validator';
import * as z from 'zod/mini';
import { timeOfId } from '../../domain/record-id.ts';
import { PageProblem } from './page-problem.ts';

/**
 * The filters in the address of a page have this shape: the handler gets them by `c.req.valid('query')`. Empty filters are
 * ignored, and of a repeated one the last counts.
 *
 * @throws PageProblem with the messages of the shape, if it refuses a value
 */
export const validQuery = <Shape extends z.ZodMiniType>(shape: Shape) =>
  // Not `zValidator`: it parses asynchronously, and then transformed filters come after all others, in links too.
  validator('query', (parameters): z.output<Shape> => {
    const { data, error } = shape.safeParse(givenFilters(parameters));
    if (error) throw invalidFilter(error);
    return data;
  });

/** Filters that a shape refuses: its messages name each and its rule. */
export const invalidFilter = ({ issues }: { issues: readonly { message: string }[] }) =>
  new PageProblem(400, 'Invalid filter', [...new Set(issues.map(({ message }) => message))].join(' '));

function givenFilters(parameters: Record<string, string | string[]>): Record<string, string> {
  const last = Object.entries(parameters).map(([name, values]) => [name, [values].flat().at(-1) ?? ''] as const);
  return Object.fromEntries(last.filter(([, value]) => value.trim() !== ''));
}

/** The address of a CSV file: with `before`, it continues another one. */
export const validFile = validQuery(z.lazy(() => z.object({ before: z.optional(z.string()) })));

/** The text of a search by an id: a ticket also as `#1003`. */
export const searchedId = (entered: string) => entered.trim().replace(/^#(?=.)/, '');

export const isRequestId = (text: string) => timeOfId(text) !== undefined;
