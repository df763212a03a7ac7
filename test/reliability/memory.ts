import { readdir, readFile } from 'node:fs/promises';
import { median } from '../bench/statistics.ts';

/** The resident memory (MiB) of workerd in a process group, by Linux' /proc. */
export async function workerdMiB(groupId: number): Promise<number> {
  let kib = 0;
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    // The process may have ended since it was listed. proc(5): pid (name) state parent group …
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    if (!new RegExp(`^\\d+ \\(workerd\\) \\S \\d+ ${groupId} `).test(stat)) continue;
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    kib += Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  }
  if (kib === 0) throw new Error('workerd is not running');
  return kib / 1024;
}

/** How memory changed in the second half of a run, in the unit of the samples. */
export interface Growth {
  /** The medians of the third and the last quarter. */
  thirdQuarter: number;
  lastQuarter: number;
  /** The rise of the line of least squares over the second half. */
  rise: number;
  flat: boolean;
}

/** How much more than in the third quarter there may be at the end. */
const TOLERANCE = 0.05;

/**
 * Whether memory, sampled at equal intervals, has stopped growing: in the second half neither the
 * median of the last quarter compared with that of the third, nor the line of least squares, rises
 * by more than 5 %.
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
