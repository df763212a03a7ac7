import { trimOws } from './trim-ows.ts';

/** A preference may have a quoted value, which may contain a comma. */
const PREFERENCES = /(?:[^,"]|"(?:\\.|[^"\\])*"?)+/g;

/**
 * Whether a `Prefer` header asks for `handling=strict` (RFC 7240 §4.4). Names are compared without letter case, values
 * with it, and only the first `handling` counts (§2).
 */
export function prefersStrictHandling(header = ''): boolean {
  for (const preference of header.match(PREFERENCES) ?? []) {
    const [, name = '', value = ''] = /^([^=;]*)=?([^;]*)/.exec(preference) ?? [];
    if (trimOws(name).toLowerCase() === 'handling') return /^(?:strict|"strict")$/.test(trimOws(value));
  }
  return false;
}
