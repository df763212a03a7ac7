import { zValidator } from '@hono/zod-validator';
import * as z from 'zod/mini';
import { timeOfId } from '../../domain/record-id.ts';
import { PageProblem } from './page-problem.ts';

/**
 * The filters in the address of a page have this shape: the handler gets them by `c.req.valid('query')`. Empty filters are
 * ignored, and of a repeated one the last counts. No field has a `z.transform`: that resolves asynchronously here, so its
 * field would be the last one in the links of the page.
 *
 * @throws PageProblem with the messages of the shape, if it refuses a value
 */
export const validQuery = <Shape extends z.ZodMiniType>(shape: Shape) =>
  zValidator(
    'query',
    z.lazy(() => z.pipe<z.ZodMiniTransform<unknown, unknown>, Shape>(z.transform(givenFilters), shape)),
    (result) => {
      if (!result.success) throw invalidFilter(result.error);
    },
  );

/** Filters that a shape refuses: its messages name each and its rule. */
export const invalidFilter = ({ issues }: { issues: readonly { message: string }[] }) =>
  new PageProblem(400, 'Invalid filter', [...new Set(issues.map(({ message }) => message))].join(' '));

function givenFilters(parameters: unknown): unknown {
  const last = z.transform((all: string[]) => all.at(-1) ?? '');
  const lastOf = z.record(z.string(), z.union([z.string(), z.pipe(z.array(z.string()), last)]));
  return Object.fromEntries(Object.entries(lastOf.parse(parameters)).filter(([, value]) => value.trim() !== ''));
}

/** The address of a CSV file: with `before`, it continues another one. */
export const validFile = validQuery(z.lazy(() => z.object({ before: z.optional(z.string()) })));

/** The text of a search by an id: a ticket also as `#1003`. */
export const searchedId = (entered: string) => entered.trim().replace(/^#(?=.)/, '');

export const isRequestId = (text: string) => timeOfId(text) !== undefined;
