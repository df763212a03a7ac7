import * as z from 'zod';
import type { KeyStanding } from './api-key.ts';
import type { RateLimitPolicy } from './rate-limit.ts';
import { SCOPE_IDS, type Scope } from './scopes.ts';

/** Who is asking: a key, and the organization it acts within. */
export interface Principal {
  organizationId: string;
  /** IANA name; work dates are dates in it. */
  timeZone: string;
  hasPsa: boolean;
  keyId: string;
  /** SHA-256 of the key value in hex: a write matches it too, so that a cached key can never stand for another one. */
  keyHash: string;
  /** The id of the first key of the rotation chain, whose limit all keys of the chain share. */
  chainId: string;
  keyName: string;
  scopes: readonly Scope[];
  /** A limit of the key's own, or null for the deployment's. */
  limit: RateLimitPolicy | null;
  /** UTC milliseconds from which on the key is dead, or null for never. */
  expiresAt: number | null;
}

/** A key as the look-up found it: not yet judged. */
export interface FoundKey extends Principal, KeyStanding {}

/** Answer to a ping: whose key this is. */
export const pingAnswer = z.object({
  ok: z.literal(true),
  organizationId: z.string().meta({ description: 'The organization the key acts in.' }),
  keyName: z.string().meta({ description: "The key's name in the settings." }),
  scopes: z.array(z.enum(SCOPE_IDS)).meta({ description: 'What the key may write.' }),
});

export type PingAnswer = z.output<typeof pingAnswer>;
