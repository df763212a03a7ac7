import { instant, optionalInstant, plain } from '../../domain/change.ts';
import type { FoundFact } from '../../domain/facts.ts';

/** The receiver of the push, a chat, or the log if neither has a URL. */
export type AlertChannel = 'push' | 'chat' | 'log';

export const messageType = <Type extends string>(type: Type) => `alert.${type}` as const;

/** The data of an alert for the receiver. Times are ISO 8601, UTC. `serviceUrl` is the origin of this service. */
export function alertData(fact: FoundFact, serviceUrl: string | undefined) {
  const { organizationId, keyId, keyName, keyHint, keyExpiresAt } = fact;
  const { sentence, advice } = fact.kind;
  return {
    /** Null for an alert about the whole deployment. */
    organization: organizationId === '' ? null : organizationId,
    /** Null for an alert that is not about one key. */
    key:
      keyId === null
        ? null
        : { id: keyId, name: plain(keyName ?? ''), hint: keyHint ?? '', expiresAt: optionalInstant(keyExpiresAt) },
    since: instant(fact.since),
    /** 1, and higher if the fact becomes more urgent. */
    level: fact.level,
    text: sentence(fact),
    advice,
    settingsUrl: serviceUrl === undefined ? null : `${serviceUrl}${settingsPath(fact)}`,
  };
}
export type AlertData = ReturnType<typeof alertData>;

/** A page of the settings area to begin with. */
function settingsPath({ organizationId, keyId }: FoundFact): string {
  if (organizationId === '') return '/settings';
  const keys = `/settings/${organizationId}/keys`;
  return keyId === null ? keys : `${keys}/${keyId}`;
}
