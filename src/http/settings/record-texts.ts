import { withoutKeys } from '../../domain/pasted-keys.ts';
import { type AuditEntry, readTexts } from '../../services/audit/read-audit-log.ts';
import { type AdminEnv, adminContext, type ContextOf } from '../hono-env.ts';

/** The texts of records by their id. */
export type RecordTexts = ReadonlyMap<string, string>;

/**
 * The texts that audit entries are about, shortened to `length` characters, without pasted keys.
 */
export async function recordTexts(
  c: ContextOf<AdminEnv>,
  entries: readonly AuditEntry[],
  length: number,
): Promise<RecordTexts> {
  const { keyPrefixes } = c.get('config');
  // One character more shows whether the text is longer.
  const texts = await readTexts(adminContext(c), entries, length + 1);
  return new Map(
    Array.from(texts, ([id, text]) => {
      const shown = withoutKeys(text, keyPrefixes);
      return [id, shown.length > length ? `${shown.slice(0, length).trimEnd()}…` : shown];
    }),
  );
}
