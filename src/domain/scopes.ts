import { RECORD_KIND_NAMES, RECORD_KINDS, type RecordKind } from './record-kinds.ts';

/** What a key may be allowed to do: one scope for each kind of record. */
export type Scope = (typeof RECORD_KINDS)[RecordKind]['scope'];

/** The scopes in the order in which they are stored and shown. */
export const SCOPE_IDS: readonly Scope[] = RECORD_KIND_NAMES.map((kind) => RECORD_KINDS[kind].scope);

export function writableKinds(scopes: readonly Scope[]): RecordKind[] {
  return RECORD_KIND_NAMES.filter((kind) => scopes.includes(RECORD_KINDS[kind].scope));
}

export function scopeLabels(scopes: readonly Scope[]): string[] {
  return writableKinds(scopes).map((kind) => RECORD_KINDS[kind].scopeLabel);
}

/** Formats scopes for storage, space-separated in the order of `SCOPE_IDS` (RFC 6749 §3.3). */
export function formatScopes(scopes: readonly Scope[]): string {
  return SCOPE_IDS.filter((scope) => scopes.includes(scope)).join(' ');
}

export function parseScopes(stored: string): Scope[] {
  const held = stored.split(' ');
  return SCOPE_IDS.filter((scope) => held.includes(scope));
}
