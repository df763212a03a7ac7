import * as z from 'zod';
import { instant, optionalInstant, plain } from '../../domain/change.ts';
import type { FoundFact } from '../../domain/facts.ts';

/** The receiver of the push, a chat, or the log if neither has a URL. */
export type AlertChannel = 'push' | 'chat' | 'log';

/** The data of an alert. Times are ISO 8601, UTC. */
export const alertDataShape = z.lazy(() =>
  z.object({
    /** Null for an alert about the whole deployment. */
    organization: z.string().nullable(),
    /** Null for an alert that is not about one key. */
    key: z
      .object({
        id: z.string(),
        name: z.object({ mediaType: z.literal('text/plain'), text: z.string() }),
        hint: z.string(),
        expiresAt: z.string().nullable(),
      })
      .nullable(),
    since: z.string(),
    /** 1, and higher if the fact becomes more urgent. */
    level: z.number(),
    text: z.string(),
    advice: z.string(),
  }),
);
export type AlertData = z.output<typeof alertDataShape>;

export const messageType = <Type extends string>(type: Type) => `alert.${type}` as const;

export function alertData(fact: FoundFact): AlertData {
  const { organizationId, keyId, keyName, keyHint, keyExpiresAt } = fact;
  const { sentence, advice } = fact.kind;
  return {
    organization: organizationId === '' ? null : organizationId,
    key:
      keyId === null
        ? null
        : { id: keyId, name: plain(keyName ?? ''), hint: keyHint ?? '', expiresAt: optionalInstant(keyExpiresAt) },
    since: instant(fact.since),
    level: fact.level,
    text: sentence(fact),
    advice,
  };
}

/** The page of the settings area to look at. `serviceUrl` is the origin of this service. */
export function settingsUrl({ organization, key }: AlertData, serviceUrl: string): string {
  if (organization === null) return `${serviceUrl}/settings`;
  const keys = `${serviceUrl}/settings/${organization}/keys`;
  return key ? `${keys}/${key.id}` : keys;
}
