import type { KeyValidity } from './api-key.ts';
import type { OwnDayLimit } from './day-limit.ts';
import type { RequestLimit } from './request-limit.ts';
import type { Scope } from './scopes.ts';

/** The authenticated caller: a key, and the organization it belongs to. */
export interface Principal {
  organizationId: string;
  timeZone: string;
  hasPsa: boolean;
  keyId: string;
  /** SHA-256 of the key value in hex: a write also matches it, so that a cached key can never stand for another one. */
  keyHash: string;
  /** The id of the first key of the rotation chain, whose limit all keys of the chain share. */
  chainId: string;
  keyName: string;
  scopes: readonly Scope[];
  /** Networks separated by spaces; empty for everywhere. A write requires that the list has not changed. */
  allowedNetworks: string;
  /** The key's own limit, or null for the deployment's. */
  limit: RequestLimit | null;
  dayLimit: OwnDayLimit;
  /** UTC milliseconds at which the key expires, or null for never. */
  expiresAt: number | null;
}

/** A key as read from the database, not yet checked. */
export interface FoundKey extends Principal, KeyValidity {}
