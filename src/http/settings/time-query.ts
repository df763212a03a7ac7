import { type TimeQuery, timeQuery } from '../../services/work/time-queue.ts';
import { PageProblem } from './page-problem.ts';
import { validQuery } from './valid-query.ts';

const invalid = ({ issues }: { issues: readonly { message: string }[] }) =>
  new PageProblem(400, 'Invalid filter', issues.map(({ message }) => message).join(' '));

/** The filters of the time in the address of a page. */
export const validTime = validQuery(timeQuery, invalid);

/** The filters of the time that a form sends with its fields. @throws PageProblem if one is invalid */
export function timeQueryOf(values: URLSearchParams): TimeQuery {
  const { data, error } = timeQuery.safeParse(Object.fromEntries([...values].filter(([, value]) => value !== '')));
  if (error) throw invalid(error);
  return data;
}
