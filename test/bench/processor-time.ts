import { readdir, readFile } from 'node:fs/promises';

/** Of Linux' /proc/*\/stat: 100 ticks are a second on every architecture that Node runs on. */
const TICK_MS = 10;

interface Process {
  parent: number;
  name: string;
  /** User and system time, milliseconds. */
  ms: number;
}

/**
 * The user and system time (milliseconds) that workerd, started by this process, and whatever it
 * started have taken so far.
 */
export async function workerdMs(): Promise<number> {
  const ours = await ownProcesses();
  if (ours.length === 0) throw new Error('workerd is not running');
  return ours.reduce((sum, [, { ms }]) => sum + ms, 0);
}

/** The ids of the workerd processes that this process started, and of those that they started. */
export async function workerdProcesses(): Promise<number[]> {
  return (await ownProcesses()).map(([pid]) => pid);
}

async function ownProcesses(): Promise<[pid: number, process: Process][]> {
  const processes = new Map<number, Process>();
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const found = await readProcess(pid);
    if (found) processes.set(Number(pid), found);
  }
  const belongs = (process: Process | undefined): boolean =>
    process !== undefined &&
    ((process.name === 'workerd' && isOurs(process.parent)) || belongs(processes.get(process.parent)));
  const isOurs = (pid: number): boolean => {
    if (pid === process.pid) return true;
    const parent = processes.get(pid)?.parent;
    return parent !== undefined && isOurs(parent);
  };
  return [...processes].filter(([, process]) => belongs(process));
}

/** Undefined for a process that has ended meanwhile. */
async function readProcess(pid: string): Promise<Process | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // The name is in brackets and may hold blanks and brackets itself: proc(5).
  const match = stat && /^\d+ \((.*)\) \S (.*)$/s.exec(stat);
  if (!match) return undefined;
  const fields = (match[2] ?? '').split(' ').map(Number);
  const [parent = 0, utime = 0, stime = 0] = [fields[0], fields[10], fields[11]];
  return { parent, name: match[1] ?? '', ms: (utime + stime) * TICK_MS };
}
