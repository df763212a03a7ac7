import { instant, optionalInstant, type PlainText, plain } from '../../domain/change.ts';
import { FACTS, type Fact, type FactType } from '../../domain/facts.ts';

// The message about a fact.

/**
 * Where alerts are sent: as signed messages to the receiver of the push, as texts to a chat, or to
 * the log if there is no address.
 */
export type AlertChannel = 'push' | 'chat' | 'log';

/** The data of an alert. Times are ISO 8601, UTC. */
export interface AlertData {
  /** Null for an alert about the whole deployment. */
  organization: string | null;
  /** Null for an alert that is not about one key. */
  key: { id: string; name: PlainText; hint: string; expiresAt: string | null } | null;
  since: string;
  /** 1, and higher if the fact becomes more urgent. */
  level: number;
  text: string;
  advice: string;
}

/** The `type` of the message with an alert. */
export const messageType = <Type extends FactType>(type: Type) => `alert.${type}` as const;

export function alertData(fact: Fact): AlertData {
  const { organizationId, keyId, keyName, keyHint, keyExpiresAt } = fact;
  const { sentence, advice } = FACTS[fact.type];
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
