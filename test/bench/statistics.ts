/** A sample's median with its extremes. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) throw new RangeError('the median of nothing');
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/**
 * Cliff's delta: how much more often a value of `a` is the larger of two drawn at random than one
 * of `b`, from -1 to 1. Below 0.147 in size it is by convention negligible; 0 means that the two
 * cannot be told apart.
 */
export function cliffsDelta(a: readonly number[], b: readonly number[]): number {
  const sorted = b.toSorted((x, y) => x - y);
  const countBelow = (value: number, orEqual: boolean) => {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const at = sorted[middle] ?? Infinity;
      if (at < value || (orEqual && at === value)) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  let sum = 0;
  for (const value of a) sum += countBelow(value, false) - (sorted.length - countBelow(value, true));
  return sum / (a.length * b.length);
}
