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

/** A sample's median, with the bounds between which the median of all lies with at least 95%. */
export interface Interval {
  median: number;
  low: number;
  high: number;
}

/**
 * The interval from the k-th smallest to the k-th largest value, whatever the distribution: the median of all is below or
 * above it as rarely as a fair coin falls that one-sidedly. Fewer than six values decide nothing.
 */
export function interval(values: readonly number[]): Interval {
  const sorted = values.toSorted((a, b) => a - b);
  const n = sorted.length;
  let k = 0;
  for (let chance = 0.5 ** n, below = chance; below <= 0.025; below += chance) {
    k += 1;
    chance *= (n - k + 1) / k;
  }
  return { median: median(values), low: sorted[k - 1] ?? -Infinity, high: k === 0 ? Infinity : (sorted[n - k] ?? NaN) };
}

export interface Target {
  rule: 'at least' | 'at most';
  bound: number;
}

/** Whether a target is met. It is decided if the whole interval is on one side of the bound. */
export function verdict({ low, high }: Pick<Interval, 'low' | 'high'>, { rule, bound }: Target) {
  const [isAbove, isBelow] = [low >= bound, high <= bound];
  if (!isAbove && !isBelow) return 'not decided';
  return (rule === 'at least' ? isAbove : isBelow) ? 'met' : 'missed';
}

/**
 * Cliff's delta: how much more often a value of `a` is the larger of two drawn at random than one
 * of `b`, from -1 to 1. Below 0.147 in size it is by convention negligible; 0 means that neither
 * tends to be larger.
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
