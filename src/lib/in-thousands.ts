/**
 * A whole number with commas, such as `32,000`. `toLocaleString` would load the data of a locale, which
 * would add a fifth to the start of an isolate.
 */
export const inThousands = (number: number): string => String(number).replace(/\B(?=(?:\d{3})+$)/g, ',');
