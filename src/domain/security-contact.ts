import * as z from 'zod/mini';

export interface SecurityContact {
  /** Addresses in order of preference: `mailto:`, `https:` or `tel:`. */
  addresses: readonly string[];
  /** The last day on which the addresses are known to be right, such as 2027-06-30. */
  expires: string;
}

/** Separated by commas or white space; none if empty. @throws RangeError naming the address and the rule */
export function parseContactAddresses(text: string): string[] {
  const addresses = text.split(/[\s,]+/).filter((address) => address !== '');
  const wrong = addresses.find((address) => !/^(mailto:|https:\/\/|tel:)./.test(address) || !URL.canParse(address));
  if (wrong !== undefined)
    throw new RangeError(
      `"${wrong}" is not an address for reports; write mailto:, https:// or tel:, such as mailto:security@example.com`,
    );
  return addresses;
}

/** A date such as 2027-06-30; undefined if empty. @throws RangeError naming the text and the rule */
export function parseExpires(text: string): string | undefined {
  const date = text.trim();
  if (date === '') return undefined;
  if (z.iso.date().safeParse(date).success) return date;
  throw new RangeError(`"${text}" is not a date; write the last valid day, such as 2027-06-30`);
}
