import type { FoundFact } from '../../domain/facts.ts';

/** The line of text about a fact. `serviceUrl` is the origin of this service. */
export function alertText(fact: FoundFact, serviceUrl: string | undefined): string {
  const { sentence, advice } = fact.kind;
  const about = fact.organizationId === '' ? '' : `${fact.organizationId}: `;
  const link = serviceUrl === undefined ? '' : ` ${serviceUrl}${settingsPath(fact)}`;
  return `${about}${sentence(fact)} ${advice}${link}`;
}

/** A page of the settings area to begin with. */
function settingsPath({ organizationId, keyId }: FoundFact): string {
  if (organizationId === '') return '/settings';
  const keys = `/settings/${organizationId}/keys`;
  return keyId === null ? keys : `${keys}/${keyId}`;
}
