import { readdir, readFile } from 'node:fs/promises';

/** Of Linux' /proc/*\/stat: 100 ticks are a second on every architecture that Node runs on. */
const TICK_MS = 10;

/** The user and system time (milliseconds) that the workerd that this process started has taken so far. */
export async function workerdMs(): Promise<number> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    // The process may have ended since it was listed. proc(5): pid (name) state parent …
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    if (!stat.includes(` (workerd) `)) continue;
    const fields = stat.split(' ');
    const [utime, stime] = [Number(fields[13]), Number(fields[14])];
    if (Number(fields[3]) === process.pid) return (utime + stime) * TICK_MS;
  }
  throw new Error('workerd is not running');
}
