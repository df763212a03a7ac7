import { withoutKeys } from '../../domain/pasted-keys.ts';
import type { AdminEnv, ContextOf } from '../hono-env.ts';

/** The entries with texts of at most `length` characters, without pasted keys, and whether these are all. */
export function shownEntries<Entry extends { text: string | null; textLength?: number | null }>(
  c: ContextOf<AdminEnv>,
  entries: readonly Entry[],
  length: number,
): (Entry & { isCut: boolean })[] {
  const { keyPrefix } = c.get('config');
  return entries.map((entry) => {
    const text = entry.text === null ? null : withoutKeys(entry.text, keyPrefix);
    // Without a pasted key, what was read of a longer text may be shorter.
    const isCut = text !== null && (text.length > length || (entry.text?.length ?? 0) < (entry.textLength ?? 0));
    return { ...entry, isCut, text: isCut ? `${text.slice(0, length).trimEnd()}…` : text };
  });
}
