/** Where the Durable Objects of a deployment are placed and stored. */
export const JURISDICTIONS = ['eu', 'us', 'fedramp'] as const;
export type Jurisdiction = (typeof JURISDICTIONS)[number];

export function parseJurisdiction(text: string): Jurisdiction | undefined {
  if (text.trim() === '') return undefined;
  const jurisdiction = JURISDICTIONS.find((one) => one === text.trim());
  if (jurisdiction) return jurisdiction;
  throw new RangeError(`"${text}" is not a jurisdiction; write ${JURISDICTIONS.join(', ')}, or nothing`);
}

/** The Durable Objects of a namespace in a jurisdiction: other ones than without it. */
export const placedIn = <Namespace extends { jurisdiction(name: Jurisdiction): Namespace }>(
  namespace: Namespace,
  jurisdiction: Jurisdiction | undefined,
): Namespace => (jurisdiction === undefined ? namespace : namespace.jurisdiction(jurisdiction));
