import { PROBLEMS, type ProblemCode } from '../http/problems.ts';
import errorsPage from './pages/errors.md?raw';

const ROW = /^\| `(\w+)` (.+) \| (.+) \| (.+) \|$/gm;

/** The explanation of each error by its code: the rows of the table on the page of errors. */
export const ERROR_TEXTS = new Map(
  Array.from(
    errorsPage.matchAll(ROW),
    ([, code = '', , meaning = '', remedy = '']) => [code, { meaning, remedy }] as const,
  ),
);

export function errorText(code: ProblemCode) {
  const text = ERROR_TEXTS.get(code);
  const { status, title } = PROBLEMS[code];
  if (text && errorsPage.includes(`\n| \`${code}\` ${status} ${title} | `)) return text;
  throw new Error(`The page of errors lacks the row \`${code}\` ${status} ${title}`);
}
