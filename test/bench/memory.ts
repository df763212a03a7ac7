import { readdir, readFile } from 'node:fs/promises';
import { median } from './statistics.ts';

/** The resident memory (MiB) of workerd in a process group, by Linux' /proc. */
export async function workerdMiB(groupId: number): Promise<number> {
  let kib = 0;
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    // Of a process that has ended meanwhile there is nothing to read. proc(5): pid (name) state parent group …
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    if (!new RegExp(`^\\d+ \\(workerd\\) \\S \\d+ ${groupId} `).test(stat)) continue;
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    kib += Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  }
  if (kib === 0) throw new Error('workerd is not running');
  return kib / 1024;
}

/** How memory went in the second half of a run; the same unit as the samples. */
export interface Growth {
  /** Medians of the third and of the last quarter. */
  thirdQuarter: number;
  lastQuarter: number;
  /** What the line of least squares rises by from the first to the last sample of the second half. */
  rise: number;
  flat: boolean;
}

/** Of what is there in the third quarter: what may have been added by the end. */
const TOLERANCE = 0.05;

/**
 * Whether memory that was sampled at equal intervals has stopped growing: over the second half neither the median of its latter quarter
 * against that of its first, nor the line of least squares, rises by more than 5 %.
 */
export function growth(samples: readonly number[]): Growth {
  const half = samples.slice(samples.length >> 1);
  const thirdQuarter = median(half.slice(0, half.length >> 1));
  const lastQuarter = median(half.slice(half.length >> 1));
  const rise = leastSquaresSlope(half) * (half.length - 1);
  const most = TOLERANCE * thirdQuarter;
  return { thirdQuarter, lastQuarter, rise, flat: lastQuarter - thirdQuarter <= most && rise <= most };
}

/** The slope of the line of least squares through values at 0, 1, 2, … */
function leastSquaresSlope(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let covariance = 0;
  let variance = 0;
  for (const [index, value] of values.entries()) {
    covariance += (index - middle) * (value - mean);
    variance += (index - middle) ** 2;
  }
  return covariance / variance;
}
