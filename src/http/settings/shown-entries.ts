import { withoutKeys } from '../../domain/pasted-keys.ts';
import type { AdminEnv, ContextOf } from '../hono-env.ts';

/** The entries with texts of at most `length` characters, without pasted keys. */
export function shownEntries<Entry extends { text: string | null }>(
  c: ContextOf<AdminEnv>,
  entries: readonly Entry[],
  length: number,
): Entry[] {
  const { keyPrefix } = c.get('config');
  return entries.map((entry) => {
    const text = entry.text === null ? null : withoutKeys(entry.text, keyPrefix);
    return { ...entry, text: text !== null && text.length > length ? `${text.slice(0, length).trimEnd()}…` : text };
  });
}
