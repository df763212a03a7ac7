import { PROBLEMS, type ProblemCode } from '../http/problems.ts';
import { ERROR_TEXTS, FIXED_BY } from './error-texts.ts';

const isCode = (text: string): text is ProblemCode => Object.hasOwn(PROBLEMS, text);

/** The rows of the table of errors, as Markdown. */
export const errorRows = Object.keys(PROBLEMS)
  .filter(isCode)
  .map((code) => {
    const { meaning, remedy, fixedBy } = ERROR_TEXTS[code];
    const { status, title } = PROBLEMS[code];
    return `| \`${code}\` ${status} ${title} | ${meaning} | ${remedy} | ${FIXED_BY[fixedBy]} |`;
  })
  .join('\n');
