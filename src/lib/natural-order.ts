/** Compares texts with numbers in them as people expect: 2 before 10. */
export const naturalOrder = new Intl.Collator('en', { numeric: true });
