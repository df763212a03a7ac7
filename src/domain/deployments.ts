// A service may consist of several deployments, each with its own database, objects and key prefix.

/** Where the Durable Objects of a deployment are placed and stored. */
export type Jurisdiction = 'eu' | 'us' | 'fedramp';
const JURISDICTIONS: readonly Jurisdiction[] = ['eu', 'us', 'fedramp'];

export interface SettingsLink {
  name: string;
  url: string;
}

/** The rule for a key prefix, as a sentence continues after "it must". */
export const KEY_PREFIX_RULE = 'be 2 to 16 lower-case letters and digits and begin with a letter';
export const isKeyPrefix = (text: string) => /^[a-z][a-z0-9]{1,15}$/.test(text);

export function parseJurisdiction(text: string): Jurisdiction | undefined {
  if (text.trim() === '') return undefined;
  const jurisdiction = JURISDICTIONS.find((one) => one === text.trim());
  if (jurisdiction) return jurisdiction;
  throw new RangeError(`"${text}" is not a jurisdiction; write ${JURISDICTIONS.join(', ')}, or nothing`);
}

/** The key prefixes of the other deployments, such as `eu, us`. @throws RangeError naming the entry and the rule */
export function parseKnownPrefixes(text: string): string[] {
  const prefixes = text.split(/[\s,]+/).filter((entry) => entry !== '');
  const wrong = prefixes.find((prefix) => !isKeyPrefix(prefix));
  if (wrong !== undefined) throw new RangeError(`"${wrong}" is not a key prefix; it must ${KEY_PREFIX_RULE}`);
  return prefixes;
}

/** Such as `EU https://eu.example/settings, US …`. @throws RangeError naming the entry and the rule */
export function parseSettingsLinks(text: string): SettingsLink[] {
  const entries = text.split(',').map((entry) => entry.trim());
  return entries.filter((entry) => entry !== '').map(parseSettingsLink);
}

function parseSettingsLink(entry: string): SettingsLink {
  const [, name = '', url = ''] = /^(\S.*?)\s+(\S+)$/.exec(entry) ?? [];
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return { name, url };
  throw new RangeError(`"${entry}" is not a name and an address; write them as in EU https://eu.example/settings`);
}

/** The objects of a namespace in a jurisdiction: other ones than without it. */
export const placedIn = <Namespace extends { jurisdiction(name: Jurisdiction): Namespace }>(
  namespace: Namespace,
  jurisdiction: Jurisdiction | undefined,
): Namespace => (jurisdiction === undefined ? namespace : namespace.jurisdiction(jurisdiction));
