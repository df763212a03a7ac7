import { parseDayLimit } from '../../src/domain/day-limit.ts';
import { parseRequestLimit } from '../../src/domain/request-limit.ts';

/** Of the keys that are made here. */
export const KEY_PREFIX = 'bench';
/** The limits of all services, which no request reaches. */
export const REQUEST_LIMIT = '10000/1s';
export const DAY_LIMIT = '10000000/10000MB';

/** The same, for the services that read no variables. */
export const LIMIT = parseRequestLimit(REQUEST_LIMIT);
export const DAY = parseDayLimit(DAY_LIMIT) ?? { records: 0, bytes: 0 };
