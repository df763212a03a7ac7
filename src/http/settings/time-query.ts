import { type TimeQuery, timeQuery } from '../../domain/time-query.ts';
import { invalidFilter, validQuery } from './valid-query.ts';

/** The filters of the time in the address of a page. */
export const validTime = validQuery(timeQuery);

/** The filters of the time that a form sends with its fields. @throws PageProblem if one is invalid */
export function timeQueryOf(values: URLSearchParams): TimeQuery {
  const { data, error } = timeQuery.safeParse(Object.fromEntries([...values].filter(([, value]) => value !== '')));
  if (error) throw invalidFilter(error);
  return data;
}
