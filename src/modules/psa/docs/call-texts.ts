import { blocksOf, codesIn, sectionsOf } from '../../../docs/blocks.ts';
import type { PsaCallType } from '../psa-calls.ts';
import calls from './calls.md?raw';
import page from './psa-calls.md?raw';

const sections = new Map(sectionsOf(blocksOf(calls), 2).map(({ title, blocks }) => [title, blocks]));

/** The summary of a call, and an example: its part of calls.md. @throws Error if there is none */
export function callText(type: PsaCallType): { summary: string; data: unknown; value: unknown } {
  const [summary, ...examples] = sections.get(type) ?? [];
  const [data, value] = codesIn(examples).map(({ versions: [code] }) => code?.text);
  if (summary?.type !== 'paragraph' || data === undefined || value === undefined)
    throw new Error(`calls.md lacks summary, data or value of ${type}`);
  return { summary: summary.text, data: JSON.parse(data), value: JSON.parse(value) };
}

/** The errors of a call: the rows of the table on the page of calls. */
export const CALL_ERROR_TEXTS = Array.from(
  page.matchAll(/^\| `(\w+)` \| (\d{3}) \| (.+) \|$/gm),
  ([, code = '', status, text = '']) => ({ code, status: Number(status), text }),
);
