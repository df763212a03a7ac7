import * as z from 'zod';
import { blocksOf, codesIn, sectionsOf } from '../../../docs/blocks.ts';
import type { PsaCallType } from '../psa-calls.ts';
import approval from './approval.md?raw';
import calls from './calls.md?raw';
import changes from './changes.md?raw';
import directory from './directory.md?raw';
import refusals from './refusals.md?raw';

/** The part of each call on its page, without the tables that calls.ts includes. */
const sections = new Map(
  [directory, changes, approval, refusals, calls]
    .map((page) => page.replaceAll(/^<!-- include: .+ -->$/gm, ''))
    .flatMap((page) => sectionsOf(blocksOf(page), 2))
    .map(({ title, blocks }) => [title, blocks]),
);

/** The summary of a call, and an example: its part of a page. @throws Error if there is none */
export function callText(type: PsaCallType): { summary: string; data: unknown; value: unknown } {
  const [summary, ...examples] = sections.get(type) ?? [];
  const [sent, value] = codesIn(examples).map(({ versions: [code] }) => code?.text);
  if (summary?.type !== 'paragraph' || sent === undefined || value === undefined)
    throw new Error(`no page has summary, message and value of ${type}`);
  const { data } = z.object({ type: z.literal(type), data: z.unknown() }).parse(JSON.parse(sent));
  return { summary: summary.text, data, value: JSON.parse(value) };
}

/** The errors of a call: the rows of the table on the page of calls. */
export const CALL_ERROR_TEXTS = Array.from(
  calls.matchAll(/^\| `(\w+)` \| (\d{3}) \| (.+) \|$/gm),
  ([, code = '', status, text = '']) => ({ code, status: Number(status), text }),
);
