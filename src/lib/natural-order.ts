let collator: Intl.Collator | undefined;

/**
 * Compares texts with numbers in them as people expect: 2 before 10. The collator is made at its first
 * use, because it loads the data of a locale.
 */
export function compareNaturally(a: string, b: string): number {
  collator ??= new Intl.Collator('en', { numeric: true });
  return collator.compare(a, b);
}
