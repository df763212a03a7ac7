/** What the names of all objects of an organization begin with. Ids have no slash. */
export const objectsOf = (organization: string) => `${organization}/`;

/** What the names of all objects begin with that were ever made of the segment from this `seq` on. */
export const objectsFrom = (organization: string, fromSeq: number) => `${objectsOf(organization)}${padded(fromSeq)}-`;

/** It ends with the digest: attempts that read different data make different objects. */
export const objectName = (organization: string, fromSeq: number, toSeq: number, digest: string) =>
  `${objectsFrom(organization, fromSeq)}${padded(toSeq)}-${digest.slice(0, 16)}.ndjson.gz`;

/** In the order of their numbers, even as text. */
const padded = (seq: number) => String(seq).padStart(12, '0');

const NAME = /^([A-Za-z0-9._~-]{1,64})\/(\d{12})-\d{12}-[0-9a-f]{16}\.ndjson\.gz$/;

export function parseObjectName(name: string): { organization: string; fromSeq: number } | undefined {
  const [, organization, from] = NAME.exec(name) ?? [];
  return organization === undefined ? undefined : { organization, fromSeq: Number(from) };
}

const MAX_KEEP_DAYS = 36_500;

/** How many days changes stay; undefined for an empty text: nothing is archived. @throws RangeError */
export function parseKeepDays(text: string): number | undefined {
  const value = text.trim();
  if (value === '') return undefined;
  if (!/^\d{1,5}$/.test(value) || Number(value) < 1 || Number(value) > MAX_KEEP_DAYS)
    throw new RangeError(`"${text}" is not a whole number of days from 1 to ${MAX_KEEP_DAYS}`);
  return Number(value);
}
