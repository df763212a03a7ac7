import { FIXED_BY, PROBLEMS, UNAUTHORIZED_STEPS } from '../http/problems.ts';
import type { Includes } from './includes.ts';

const row = ([code, { status, title, meaning, remedy, fixedBy }]: [string, (typeof PROBLEMS)[keyof typeof PROBLEMS]]) =>
  `| \`${code}\` ${status} ${title} | ${meaning} | ${remedy} | ${FIXED_BY[fixedBy]} |`;

/** The generated parts of the page of errors. */
export const ERROR_INCLUDES: Includes = {
  errors: Object.entries(PROBLEMS).map(row).join('\n'),
  'unauthorized-steps': UNAUTHORIZED_STEPS.map((step, index) => `${index + 1}. ${step}`).join('\n'),
};
